// The forward graph is rewritten: after each product with a chosen weight come the adapters of the layers in it.
#include "models/lora.h"

#include "core/base/errors.h"
#include "core/base/name_pattern.h"
#include "core/data/tensor_names.h"
#include "core/model/adapter_names.h"
#include "core/ops/concat.h"
#include "core/ops/dropout.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/tensor/slice.h"
#include "core/passes/rewriter.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ptrain {
namespace {

constexpr std::string_view head_layer = "lm_head";
constexpr std::uint32_t first_stream = 1u << 16;  // of dropout; the models' own start at 1

/// A layer whose outputs are consecutive ones of a product.
struct Part {
  std::string layer;
  std::int64_t begin, outputs;
  bool adapted;
};

/// The layers of the product with `weight`; none where another than its own layer reads the weight (a tied head).
std::vector<Part> list_parts(const ModelVariable& weight, const std::vector<std::string>& targets) {
  std::vector<Part> parts;
  for (const WeightMapping& file : weight.files) {
    std::optional<std::string> layer = adapter_names::find_layer(file.external);
    if (!layer) return {};
    const bool transposed = file.layout == WeightMapping::Layout::transposed;
    const std::int64_t outputs = file.external_shape[transposed ? 1 : 0];
    const bool adapted = is_lora_target(targets, *layer);
    parts.push_back({*std::move(layer), file.row_begin, outputs, adapted});
  }
  return parts;
}

class LoraBuilder {
 public:
  LoraBuilder(BuiltModel base, const LoraConfig& lora, Mode mode)
      : base_(std::move(base)), lora_(lora), training_(mode == Mode::training), rewriter_(base_.graph) {}

  BuiltModel run() {
    find_products();
    for (const Node& node : base_.graph.nodes()) {
      rewriter_.copy(node);
      const auto found = products_.find(&node);
      if (found != products_.end()) adapt(node, found->second);
    }
    return {rewriter_.finish(), std::move(base_.variables)};
  }

 private:
  Graph& graph() { return rewriter_.graph(); }

  void find_products() {
    const std::vector<int> readers = count_readers(base_.graph);
    std::map<std::string_view, const ModelVariable*> variables;
    for (const ModelVariable& variable : base_.variables) variables[variable.name] = &variable;
    for (const Node& node : base_.graph.nodes()) {
      if (dynamic_cast<const Linear*>(node.op.get()) == nullptr) continue;
      const ValueId weight = node.inputs[Linear::w];
      const auto variable = variables.find(base_.graph.value(weight).name);
      if (variable == variables.end() || readers[static_cast<std::size_t>(weight)] != 1) continue;
      std::vector<Part> parts = list_parts(*variable->second, lora_.targets);
      if (std::ranges::any_of(parts, &Part::adapted)) products_[&node] = std::move(parts);
    }
  }

  ValueId add(const std::string& name, OpPtr op, std::vector<ValueId> inputs) {
    return graph().add(name, std::move(op), std::move(inputs));
  }

  ValueId parameter(ModelVariable variable) {
    const ValueId id = graph().add_parameter(variable.name, variable.shape);
    base_.variables.push_back(std::move(variable));
    return id;
  }

  ValueId dropout(const std::string& name, ValueId x) {
    if (!training_ || lora_.dropout <= 0) return x;
    ValueId rng = graph().find_value(tensor_names::rng);
    if (rng == no_value) rng = graph().add_input(tensor_names::rng, {DType::i64, Shape{3}});
    const DropoutAttributes attributes{static_cast<float>(lora_.dropout), stream_++};
    return add(name + ".lora_dropout", std::make_shared<Dropout>(attributes), {x, rng});
  }

  /// The rows of all A of a product: one matrix here.
  ModelVariable inner(const std::string& name, const std::vector<Part>& parts, std::int64_t inputs) const {
    const float bound = 1 / std::sqrt(static_cast<float>(inputs));
    ModelVariable variable{name + adapter_names::a, {}, {Initializer::Kind::uniform, bound}, {}};
    std::int64_t rows = 0;
    for (const Part& part : parts) {
      if (!part.adapted) continue;
      variable.files.push_back({.variable = variable.name,
                                .external = part.layer + adapter_names::a,
                                .external_shape = Shape{lora_.rank, inputs},
                                .row_begin = rows,
                                .part = WeightMapping::Part::adapter});
      rows += lora_.rank;
    }
    variable.shape = Shape{rows, inputs};
    return variable;
  }

  ModelVariable outer(const Part& part) const {
    const std::string name = part.layer + adapter_names::b;
    const Shape shape{part.outputs, lora_.rank};
    return {name,
            shape,
            {},
            {{.variable = name, .external = name, .external_shape = shape, .part = WeightMapping::Part::adapter}}};
  }

  ValueId slice(const std::string& name, ValueId x, std::int64_t begin, std::int64_t width) {
    if (graph().desc(x).shape[-1] == width) return x;
    return add(name, std::make_shared<Slice>(SliceAttributes{-1, begin, begin + width}), {x});
  }

  void adapt(const Node& node, const std::vector<Part>& parts) {
    const ValueId x = rewriter_.mapped(node.inputs[Linear::x]), y = rewriter_.mapped(node.outputs[0]);
    const ValueId a = parameter(inner(node.name, parts, graph().desc(x).shape[-1]));
    ValueId low = add(node.name + ".lora_A", std::make_shared<Linear>(), {dropout(node.name, x), a});
    const auto scale = static_cast<float>(lora_.scale());
    if (scale != 1) low = add(node.name + ".lora_scale", std::make_shared<Scale>(scale), {low});
    rewriter_.map(node.outputs[0], add_deltas(node.name, parts, low, y));
  }

  /// `low` holds the scaled A x of the adapted parts in turn; `y` the product itself.
  ValueId add_deltas(const std::string& name, const std::vector<Part>& parts, ValueId low, ValueId y) {
    const bool all = std::ranges::all_of(parts, &Part::adapted);
    std::vector<ValueId> columns;
    std::int64_t begin = 0;
    for (const Part& part : parts) {
      const ValueId own = all ? no_value : slice(part.layer + ".lora_base", y, part.begin, part.outputs);
      if (!part.adapted) {
        columns.push_back(own);
        continue;
      }
      const ValueId part_low = slice(part.layer + ".lora_low", low, begin, lora_.rank);
      begin += lora_.rank;
      const ValueId delta = add(part.layer + ".lora_B", std::make_shared<Linear>(), {part_low, parameter(outer(part))});
      columns.push_back(all ? delta : add(part.layer + ".lora_add", std::make_shared<Add>(), {own, delta}));
    }
    const ValueId joined =
        columns.size() == 1 ? columns.front() : add(name + ".lora", std::make_shared<Concat>(-1), std::move(columns));
    return all ? add(name + ".lora_add", std::make_shared<Add>(), {y, joined}) : joined;
  }

  BuiltModel base_;
  const LoraConfig& lora_;
  bool training_;
  Rewriter rewriter_;
  std::map<const Node*, std::vector<Part>> products_;
  std::uint32_t stream_ = first_stream;
};

class LoraModel final : public Model {
 public:
  LoraModel(std::unique_ptr<Model> base, LoraConfig lora) : base_(std::move(base)), lora_(std::move(lora)) {}

  std::string name() const override { return base_->name(); }
  std::string signature() const override {
    return fmt::format("{} lora rank={} scale={:.9g} targets={}", base_->signature(), lora_.rank, lora_.scale(),
                       fmt::join(lora_.targets, ","));
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    return LoraBuilder(base_->construct(batch, mode), lora_, mode).run();
  }
  Bucket bucket_for(const Bucket& batch, Mode mode) const override { return base_->bucket_for(batch, mode); }
  std::string config_json() const override { return base_->config_json(); }
  std::string variant() const override { return base_->variant(); }
  DataKind reads() const override { return base_->reads(); }
  std::string sample() const override { return base_->sample(); }

 private:
  std::unique_ptr<Model> base_;
  LoraConfig lora_;
};

/// The layers that adapters are beside.
std::vector<std::string> list_layers(const Model& base, const LoraConfig& lora) {
  std::vector<std::string> layers;
  const BuiltModel built = LoraBuilder(base.construct(1, Mode::evaluation), lora, Mode::evaluation).run();
  for (const ModelVariable& variable : built.variables) {
    for (const WeightMapping& file : variable.files) {
      if (file.external.ends_with(adapter_names::b)) {
        layers.push_back(file.external.substr(0, file.external.rfind(adapter_names::b)));
      }
    }
  }
  return layers;
}

/// The last parts of the names of all layers that could have adapters, for a message.
std::set<std::string> name_layers(const Model& base, LoraConfig lora) {
  lora.targets = {LoraConfig::all_linear};
  std::set<std::string> names;
  for (const std::string& layer : list_layers(base, lora)) names.insert(layer.substr(layer.rfind('.') + 1));
  return names;
}

/// Throws Error{usage} naming a target that matches no layer.
void require_matches(const Model& base, const LoraConfig& lora) {
  if (lora.targets.empty())
    fail_usage("model.lora.targets: is empty: expected {}, or layers' names", LoraConfig::all_linear);
  const std::vector<std::string> layers = list_layers(base, lora);
  for (const std::string& target : lora.targets) {
    const bool matches =
        std::ranges::any_of(layers, [&](const std::string& layer) { return is_lora_target({target}, layer); });
    if (matches) continue;
    fail_usage("model.lora.targets: \"{}\" matches no linear layer of {}: expected {}, or some of {}", target,
               base.name(), LoraConfig::all_linear, fmt::join(name_layers(base, lora), ", "));
  }
}

}  // namespace

bool is_lora_target(const std::vector<std::string>& targets, std::string_view layer) {
  return std::ranges::any_of(targets, [&](const std::string& target) {
    if (target == LoraConfig::all_linear) return layer != head_layer && !layer.ends_with("." + std::string(head_layer));
    if (target.find_first_of("*?!") != std::string::npos) return matches_pattern(target, layer);
    return layer == target || layer.ends_with("." + target);
  });
}

std::unique_ptr<Model> add_lora(std::unique_ptr<Model> base, const LoraConfig& lora) {
  require_matches(*base, lora);
  return std::make_unique<LoraModel>(std::move(base), lora);
}

}  // namespace ptrain

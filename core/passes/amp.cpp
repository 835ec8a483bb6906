#include "core/passes/amp.h"

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "core/passes/rewriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace ptrain {
namespace {

class AmpRewriter {
 public:
  AmpRewriter(const Graph& graph, const AmpOptions& options) : graph_(graph), options_(options), rewriter_(graph) {}

  AmpResult run() {
    find_read_otherwise();
    find_absent();
    for (const Node& node : graph_.nodes()) emit(node);
    return {rewriter_.finish(), summary_};
  }

 private:
  /// Custom lists name ops; a fused op also matches the name of the part that decides its precision.
  static bool listed(const std::set<std::string>& list, std::string_view type) {
    if (list.contains(std::string(type))) return true;
    return (type == "dropout_add_layer_norm" && list.contains("layer_norm")) ||
           (type == "linear_cross_entropy" && list.contains("linear"));
  }

  void find_absent() {
    for (const std::set<std::string>* list : {&options_.custom_white, &options_.custom_black}) {
      for (const std::string& name : *list) {
        const bool found =
            std::ranges::any_of(graph_.nodes(), [&](const Node& node) { return listed({name}, node.op->type()); });
        if (!found) summary_.absent.push_back(name);
      }
    }
  }

  AmpClass classify(const Node& node) const {
    const AmpClass own = node.op->amp_class();
    if (own == AmpClass::keep) return own;
    if (listed(options_.custom_white, node.op->type())) return AmpClass::white;
    if (listed(options_.custom_black, node.op->type())) return AmpClass::extra_black;
    // Sums of losses are read in fp32.
    const bool is_scalar = graph_.desc(node.outputs.front()).shape.rank() == 0;
    return own == AmpClass::grey && is_scalar ? AmpClass::extra_black : own;
  }

  bool casts(const Node& node, std::size_t i) const {
    const ValueId id = node.inputs[i];
    return id != no_value && is_floating(graph_.desc(id).dtype) && node.op->amp_casts_input(static_cast<int>(i));
  }

  /// Finds values with readers that cast no inputs. A table that both embeddings and a layer read (weight tying) has
  /// one copy, which the layer casts.
  void find_read_otherwise() {
    for (const Node& node : graph_.nodes()) {
      const AmpClass own = classify(node);
      const bool low = options_.level == AmpLevel::O2 ? own != AmpClass::extra_black : own == AmpClass::white;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!low || !casts(node, i)) read_otherwise_.insert(node.inputs[i]);
      }
    }
  }

  /// The precision a node computes in.
  DType precision(const Node& node) const {
    switch (classify(node)) {
      case AmpClass::white:
        return options_.dtype;
      case AmpClass::extra_black:
        return DType::f32;
      case AmpClass::black:
        return options_.level == AmpLevel::O2 ? options_.dtype : DType::f32;
      case AmpClass::grey:
      case AmpClass::keep:
        break;
    }
    if (options_.level == AmpLevel::O2) return options_.dtype;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (casts(node, i) && rewriter_.graph().desc(rewriter_.mapped(node.inputs[i])).dtype == DType::f32)
        return DType::f32;
    }
    return options_.dtype;
  }

  void emit(const Node& node) {
    std::vector<ValueId> inputs = rewriter_.mapped(node.inputs);
    if (classify(node) == AmpClass::keep) {
      unify_kept_inputs(node, inputs);
      rewriter_.copy(node, std::move(inputs));
      return;
    }
    const DType dtype = precision(node);
    ++(dtype == DType::f32 ? summary_.fp32_nodes : summary_.low_nodes);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (casts(node, i)) inputs[i] = converted(node, i, dtype);
    }
    try {
      rewriter_.copy(node, std::move(inputs));
    } catch (const Error& error) {
      if (!listed(options_.custom_white, node.op->type())) throw;
      fail_usage("amp.custom_white_list: {} computes in fp32 alone ({}); take it off the list", node.op->type(),
                 error.what());
    }
  }

  /// Ops with AmpClass::keep still need their data inputs (x and residual) in one precision: that of the first.
  void unify_kept_inputs(const Node& node, std::vector<ValueId>& inputs) {
    DType first = DType::u8;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!casts(node, i)) continue;
      if (first == DType::u8) first = rewriter_.graph().desc(inputs[i]).dtype;
      inputs[i] = cast(inputs[i], first);
    }
  }

  ValueId converted(const Node& node, std::size_t i, DType dtype) {
    const ValueId old = node.inputs[i];
    const Value& value = graph_.value(old);
    if (value.storage == Storage::parameter && is_low_precision(dtype) &&
        (options_.constant_weights || !read_otherwise_.contains(old))) {
      return low_parameter(old);
    }
    return cast(rewriter_.mapped(old), dtype);
  }

  ValueId low_parameter(ValueId old) {
    auto [it, added] = low_parameters_.try_emplace(old, no_value);
    if (!added) return it->second;
    const Value& value = graph_.value(old);
    const std::string name = low_precision_name(value.name, options_.dtype);
    if (options_.frozen && options_.frozen(value.name) && !read_otherwise_.contains(old)) {
      Value& only = rewriter_.graph().value(rewriter_.mapped(old));
      only.name = name;
      only.desc.dtype = options_.dtype;
      it->second = rewriter_.mapped(old);
    } else {
      it->second = rewriter_.graph().add_value(name, {options_.dtype, value.desc.shape}, Storage::parameter);
    }
    return it->second;
  }

  ValueId cast(ValueId id, DType dtype) {
    Graph& graph = rewriter_.graph();
    if (graph.desc(id).dtype == dtype) return id;
    auto [it, added] = casts_.try_emplace({id, dtype}, no_value);
    if (added) {
      ++summary_.casts;
      const std::string name = fmt::format("{}.{}", graph.value(id).name, to_string(dtype));
      it->second = graph.add(name, std::make_shared<Cast>(dtype), {id});
    }
    return it->second;
  }

  const Graph& graph_;
  const AmpOptions& options_;
  Rewriter rewriter_;
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
  std::map<ValueId, ValueId> low_parameters_;
  std::set<ValueId> read_otherwise_;
  AmpSummary summary_;
};

}  // namespace

std::string_view to_string(AmpClass amp_class) {
  constexpr std::array names{"white", "black", "extra_black", "grey", "keep"};
  return names.at(static_cast<std::size_t>(amp_class));
}

std::string low_precision_name(std::string_view parameter, DType dtype) {
  return fmt::format("{}@{}", parameter, to_string(dtype));
}

AmpResult apply_amp(const Graph& graph, const AmpOptions& options) {
  if (options.level == AmpLevel::O0) return {graph, {0, 0, static_cast<int>(graph.nodes().size())}};
  return AmpRewriter(graph, options).run();
}

}  // namespace ptrain

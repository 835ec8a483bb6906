#include "core/passes/update/flat_layout.h"

#include "core/base/errors.h"
#include "core/base/round_up.h"

#include <algorithm>
#include <map>

namespace ptrain {
namespace {

constexpr std::int64_t alignment = 64;  // elements; keeps every parameter on its own cache lines

/// Allocates a range at the end of a buffer of `size` elements.
std::int64_t reserve(std::int64_t& size, std::int64_t count) {
  const std::int64_t offset = size;
  size += round_up(count, alignment);
  return offset;
}

class Layout {
 public:
  Layout(const Graph& graph, const OptimizerPassOptions& options) : graph_(graph), options_(options) {}

  FlatLayout of(const std::vector<ParameterGradient>& gradients) {
    for (const ParameterGradient& g : gradients) add(g);
    place_masters();
    divide();
    for (FlatTable& t : layout_.tables) {
      if (t.is_of_own_rows()) continue;
      t.grad_offset = reserve(layout_.grad, graph_.desc(t.gradient.gradient).count());
    }
    return std::move(layout_);
  }

 private:
  ValueId find_master(ValueId parameter) const {
    const Value& value = graph_.value(parameter);
    if (!is_low_precision(value.desc.dtype)) return parameter;
    const ValueId master = graph_.find_value(master_name(value.name));
    invariant(master != no_value, "a low-precision parameter has no master");
    return master;
  }

  bool decays(ValueId parameter) const {
    const Value& value = graph_.value(parameter);
    return !options_.decays || options_.decays(value.name, value.desc.shape);
  }

  /// The parameter's group, if its update differs from the default.
  std::optional<std::size_t> find_parameter_group(ValueId parameter) const {
    const std::optional<std::size_t> index = find_group(options_.groups, graph_.value(parameter).name);
    if (!index) return std::nullopt;
    const ParameterGroup& group = options_.groups[*index];
    return group.lr_scale == 1.0f && !group.weight_decay ? std::nullopt : index;
  }

  /// Embedding and position tables are not weights of matrix products.
  bool is_looked_up(ValueId parameter) const {
    return std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
      const std::string_view type = node.op->type();
      return (type.ends_with("embedding") || type == "embedding_bag") &&
             std::find(node.inputs.begin(), node.inputs.end(), parameter) != node.inputs.end();
    });
  }
  bool is_for_muon(ValueId parameter, ValueId master) const {
    const Shape& shape = graph_.desc(master).shape;
    return options_.settings.kind == OptimizerKind::muon && shape.rank() == 2 && shape[0] > 1 && shape[1] > 1 &&
           !is_looked_up(parameter) && !is_looked_up(master);
  }

  bool is_early(const ParameterGradient& g) const {
    const bool needs_all_gradients = options_.accumulate || needs_norm(options_);
    if (!options_.early_updates || needs_all_gradients) return false;
    const EarlyUpdates& rule = *options_.early_updates;
    const TensorDesc& gradient = graph_.desc(g.gradient);
    if (gradient.bytes() < rule.least) return false;
    if (gradient.bytes() >= rule.any || rule.arithmetic == 0) return true;
    if (gradient.shape.rank() != 2) return false;
    const Node& maker = graph_.nodes()[static_cast<std::size_t>(graph_.value(g.gradient).producer)];
    const double flops = maker.op->cost(graph_.input_descs(maker), graph_.output_descs(maker)).flops;
    return flops >= rule.arithmetic * static_cast<double>(gradient.count());
  }

  void add(const ParameterGradient& g) {
    const ValueId master = find_master(g.parameter);
    const std::optional<std::size_t> group = find_parameter_group(master);
    if (g.rows != no_value) {
      layout_.tables.push_back({g, 0, group, decays(g.parameter)});
      return;
    }
    FlatParameter added{g.parameter, master, g.gradient, {}, group, is_early(g), is_for_muon(g.parameter, master)};
    added.segment.count = graph_.desc(master).count();
    added.segment.decay = decays(master);
    if (!added.early) {
      added.segment.grad_offset = reserve(added.low() ? layout_.grad_low : layout_.grad, added.segment.count);
    }
    layout_.parameters.push_back(added);
  }

  void place_masters() {
    std::map<ValueId, FlatParameter*> by_master;  // in the model's order
    for (FlatParameter& p : layout_.parameters) by_master[p.master] = &p;
    for (const bool muon : {false, true}) {  // Muon's have no second moment
      for (const bool low : {true, false}) {
        for (const auto& [master, p] : by_master) {
          if (p->muon != muon || p->low() != low) continue;
          p->segment.master_offset = reserve(layout_.master, p->segment.count);
          if (low) p->segment.low_offset = reserve(layout_.low, p->segment.count);
        }
      }
      if (!muon) layout_.second_moments = layout_.master;
    }
  }

  /// Where a rank needs the gradients of the parameters that it updates alone, they lie as parameters do, so that
  /// slices of both are of the same parameters.
  void divide() {
    if (!options_.shard) return;
    const bool any_low = layout_.low > 0;
    layout_.divides_masters = !options_.whole_masters && any_low;
    // Whether the parameters that ranks divide are all those with a gradient of one precision.
    const bool lies_as_divided = !any_low || layout_.divides_masters;
    layout_.divides_sums = options_.accumulate && !options_.whole_sums && lies_as_divided;
    if (!lies_as_divided || (needs_norm(options_) && !layout_.divides_sums)) return;
    for (FlatParameter& p : layout_.parameters) {
      if (p.low() == any_low) p.segment.grad_offset = p.segment.master_offset;
    }
    (any_low ? layout_.grad_low : layout_.grad) = layout_.divided();
  }

  const Graph& graph_;
  const OptimizerPassOptions& options_;
  FlatLayout layout_;
};

}  // namespace

FlatLayout lay_out_flat(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                        const OptimizerPassOptions& options) {
  return Layout(graph, options).of(gradients);
}

bool needs_norm(const OptimizerPassOptions& options) {
  return options.loss_scale != no_value || options.settings.clip_norm > 0;
}

OptimizerSettings make_settings(const OptimizerPassOptions& options, std::optional<std::size_t> group) {
  OptimizerSettings settings = options.settings;
  if (!group) return settings;
  settings.lr_scale = options.groups[*group].lr_scale;
  settings.weight_decay = options.groups[*group].weight_decay.value_or(settings.weight_decay);
  return settings;
}

OptimizerSettings make_element_settings(const OptimizerPassOptions& options, std::optional<std::size_t> group) {
  OptimizerSettings settings = make_settings(options, group);
  if (settings.kind == OptimizerKind::muon) settings.kind = OptimizerKind::adamw;
  return settings;
}

}  // namespace ptrain

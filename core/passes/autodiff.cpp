#include "core/passes/autodiff.h"

#include "core/base/errors.h"
#include "core/ops/elementwise.h"

#include <map>

namespace ptrain {
namespace {

class Differentiator final : public GradientBuilder {
 public:
  Differentiator(Graph graph, const std::function<bool(std::string_view)>& trains) : graph_(std::move(graph)) {
    find_needed(trains);
  }

  void seed(ValueId value, ValueId gradient) { slot(value) = gradient; }
  void run_backward(std::size_t node_count) {
    for (std::size_t i = node_count; i-- > 0;) {
      node_ = graph_.nodes()[i];  // a copy: emitting nodes moves the originals
      if (arrives() && needed_anywhere()) {
        emitted_ = 0;
        node_.op->gradient(*this);
      }
    }
  }
  std::vector<ParameterGradient> parameter_gradients() const;
  Graph& graph() { return graph_; }

  ValueId input(int index) const override {
    const auto i = static_cast<std::size_t>(index);
    return i < node_.inputs.size() ? node_.inputs[i] : no_value;
  }
  ValueId output(int index) const override { return node_.outputs[static_cast<std::size_t>(index)]; }
  const TensorDesc& desc(ValueId value) const override { return graph_.desc(value); }
  ValueId output_gradient(int index) const override { return sum_gradient(output(index)); }
  bool needs_gradient(int index) const override {
    const ValueId id = input(index);
    return id != no_value && needed_[static_cast<std::size_t>(id)];
  }
  std::vector<ValueId> emit(OpPtr op, std::vector<ValueId> inputs) override {
    const std::string name = fmt::format("{}.grad{}", node_.name, emitted_ == 0 ? "" : std::to_string(emitted_));
    ++emitted_;
    return graph_.add_node(name, std::move(op), std::move(inputs), Pass::backward);
  }
  void set_input_gradient(int index, ValueId gradient) override {
    if (!needs_gradient(index)) return;
    const ValueId id = input(index);
    invariant(desc(id).shape == desc(gradient).shape, "a gradient differs in shape from its value");
    invariant(!rows_.contains(id), "a table with a sparse gradient has another reader");
    ValueId& total = slot(id);
    if (total == no_value) {
      total = gradient;
      finished_.push_back(id);
      return;
    }
    const std::string name = fmt::format("{}.grad.sum{}", graph_.value(id).name, sums_++);
    total = graph_.add(name, std::make_shared<Add>(), {total, gradient}, Pass::backward);
  }
  void set_sparse_gradient(int index, ValueId rows, ValueId values) override {
    if (!needs_gradient(index)) return;
    const ValueId id = input(index);
    invariant(graph_.value(id).storage == Storage::parameter, "a sparse gradient does not belong to a parameter");
    invariant(sum_gradient(id) == no_value, "a table with a sparse gradient has another reader");
    slot(id) = values;
    rows_[id] = rows;
    finished_.push_back(id);
  }

 private:
  /// A value needs a gradient when it depends on a trained parameter.
  void find_needed(const std::function<bool(std::string_view)>& trains) {
    needed_.assign(graph_.values().size(), false);
    for (std::size_t i = 0; i < graph_.values().size(); ++i) {
      const Value& value = graph_.values()[i];
      needed_[i] =
          value.storage == Storage::parameter && is_floating(value.desc.dtype) && (!trains || trains(value.name));
    }
    for (const Node& node : graph_.nodes()) {
      bool any = false;
      for (const ValueId id : node.inputs) any = any || (id != no_value && needed_[static_cast<std::size_t>(id)]);
      for (const ValueId id : node.outputs)
        needed_[static_cast<std::size_t>(id)] = any && is_floating(graph_.desc(id).dtype);
    }
  }
  ValueId& slot(ValueId value) {
    const auto i = static_cast<std::size_t>(value);
    if (gradients_.size() <= i) gradients_.resize(i + 1, no_value);
    return gradients_[i];
  }
  ValueId sum_gradient(ValueId value) const {
    const auto i = static_cast<std::size_t>(value);
    return i < gradients_.size() ? gradients_[i] : no_value;
  }
  bool arrives() const {
    for (const ValueId id : node_.outputs) {
      if (sum_gradient(id) != no_value) return true;
    }
    return false;
  }
  bool needed_anywhere() const {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (needs_gradient(static_cast<int>(i))) return true;
    }
    return false;
  }

  Graph graph_;
  Node node_;
  int emitted_ = 0;
  int sums_ = 0;
  std::vector<bool> needed_;
  std::vector<ValueId> gradients_;
  std::vector<ValueId> finished_;
  std::map<ValueId, ValueId> rows_;  // rows of sparse gradients, by the parameter
};

std::vector<ParameterGradient> Differentiator::parameter_gradients() const {
  std::vector<ParameterGradient> result;
  for (const ValueId id : finished_) {
    if (graph_.value(id).storage != Storage::parameter) continue;
    const auto rows = rows_.find(id);
    result.push_back({id, sum_gradient(id), rows == rows_.end() ? no_value : rows->second});
  }
  return result;
}

}  // namespace

Differentiated differentiate(Graph graph, const std::vector<GradientSeed>& seeds,
                             const std::function<bool(std::string_view)>& trains) {
  const std::size_t forward_nodes = graph.nodes().size();
  Differentiator differentiator(std::move(graph), trains);
  for (const GradientSeed& seed : seeds) differentiator.seed(seed.value, seed.gradient);
  differentiator.run_backward(forward_nodes);
  std::vector<ParameterGradient> gradients = differentiator.parameter_gradients();
  return {std::move(differentiator.graph()), std::move(gradients)};
}

}  // namespace ptrain

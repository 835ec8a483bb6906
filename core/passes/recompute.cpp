#include "core/passes/recompute.h"

#include "core/ops/linear.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace ptrain {
namespace {

bool is_numbered(std::string_view part) {
  const std::size_t digits = part.find_last_not_of("0123456789") + 1;
  return digits < part.size() && (digits == 0 || part[digits - 1] == '_');
}

/// "model.layers.3" of "model.layers.3.mlp.add"; empty: the node belongs to no block.
std::string_view find_block(std::string_view name) {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (is_numbered(name.substr(begin, end - begin))) return name.substr(0, end);
    begin = end + 1;
  }
  return {};
}

/// Whether the node's arithmetic takes less time than its memory traffic on any device.
bool is_cheap(const Graph& graph, const Node& node) {
  constexpr double most_flops = 32;  // for an element of the results
  const std::vector<TensorDesc> outputs = graph.output_descs(node);
  double elements = 0;
  for (const TensorDesc& desc : outputs) elements += static_cast<double>(desc.count());
  return node.op->cost(graph.input_descs(node), outputs).flops <= most_flops * elements;
}

class Recomputer {
 public:
  Recomputer(const Differentiated& differentiated, Recompute what)
      : differentiated_(differentiated), graph_(differentiated.graph), what_(what), rewriter_(graph_) {}

  Differentiated run() {
    find_dropped();
    for (const Node& node : graph_.nodes()) {
      std::vector<ValueId> inputs;
      for (const ValueId id : node.inputs)
        inputs.push_back(node.phase == Pass::forward ? rewriter_.mapped(id) : find(id));
      rewriter_.copy(node, std::move(inputs));
    }
    return rewriter_.finish(differentiated_.gradients);
  }

 private:
  void find_dropped() {
    dropped_.assign(graph_.values().size(), false);
    for (const Node& node : graph_.nodes()) {
      if (node.phase != Pass::forward || find_block(node.name).empty() || !is_repeatable(node)) continue;
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        dropped_[static_cast<std::size_t>(node.outputs[k])] = is_recomputed(node, k);
      }
    }
    for (const Node& node : graph_.nodes()) {
      if (node.phase != Pass::forward) continue;
      for (const ValueId id : node.inputs) {
        if (is_dropped(id) && find_block(producer(id).name) != find_block(node.name)) keep(id);
      }
    }
    for (const auto& [name, id] : graph_.outputs()) keep(id);
    for (const ParameterGradient& g : differentiated_.gradients) {
      keep(g.gradient);
      if (g.rows != no_value) keep(g.rows);
    }
  }

  static bool is_repeatable(const Node& node) {
    if (const auto* norm = dynamic_cast<const BatchNorm*>(node.op.get())) return !norm->attrs().sync;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op->mutates_input(static_cast<int>(i))) return false;
    }
    return true;
  }

  bool is_recomputed(const Node& node, std::size_t output) const {
    return what_ == Recompute::block || is_cheap(graph_, node) || (output == 0 && saves_before_activation(node));
  }

  static bool saves_before_activation(const Node& node) {
    const auto* linear = dynamic_cast<const Linear*>(node.op.get());
    return linear != nullptr && linear->attrs().save_pre;
  }

  bool is_dropped(ValueId id) const { return id != no_value && dropped_[static_cast<std::size_t>(id)]; }
  void keep(ValueId id) { dropped_[static_cast<std::size_t>(id)] = false; }
  const Node& producer(ValueId id) const { return graph_.node(graph_.value(id).producer); }

  /// The value as backward reads it: what the forward pass kept, or what is computed again, now if it has not been.
  ValueId find(ValueId id) {
    if (!is_dropped(id)) return rewriter_.mapped(id);
    if (const auto found = again_.find(id); found != again_.end()) return found->second;
    const Node& node = producer(id);
    const bool from_layer = what_ == Recompute::selective && !is_cheap(graph_, node);  // of its activation alone
    const std::vector<ValueId> read = from_layer ? std::vector<ValueId>{node.outputs[1]} : node.inputs;
    std::vector<ValueId> inputs;
    for (const ValueId input : read) inputs.push_back(find(input));
    const OpPtr op = from_layer ? activation_of(node) : repeated(node.op);
    const auto made = rewriter_.graph().add_node(node.name + ".again", op, std::move(inputs), Pass::recompute);
    for (std::size_t k = 0; k < made.size(); ++k) again_[node.outputs[k]] = made[k];
    return again_.at(id);
  }

  static OpPtr activation_of(const Node& layer) {
    return std::make_shared<ActivationOp>(static_cast<const Linear&>(*layer.op).attrs().activation);
  }

  /// A norm whose running statistics take no part of the batch's.
  static OpPtr repeated(const OpPtr& op) {
    const auto* norm = dynamic_cast<const BatchNorm*>(op.get());
    if (norm == nullptr) return op;
    BatchNormAttributes attributes = norm->attrs();
    attributes.momentum = 0;
    return std::make_shared<BatchNorm>(attributes);
  }

  const Differentiated& differentiated_;
  const Graph& graph_;
  Recompute what_;
  Rewriter rewriter_;
  std::vector<bool> dropped_;         // by value
  std::map<ValueId, ValueId> again_;  // by dropped value: what is computed again
};

}  // namespace

Differentiated recompute(const Differentiated& differentiated, Recompute what) {
  return what == Recompute::none ? differentiated : Recomputer(differentiated, what).run();
}

}  // namespace ptrain

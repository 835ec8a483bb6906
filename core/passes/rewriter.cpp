#include "core/passes/rewriter.h"

namespace ptrain {

std::vector<int> count_readers(const Graph& graph) {
  std::vector<int> readers(graph.values().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const ValueId id : node.inputs) {
      if (id != no_value) ++readers[static_cast<std::size_t>(id)];
    }
  }
  for (const auto& output : graph.outputs()) ++readers[static_cast<std::size_t>(output.second)];
  return readers;
}

std::vector<int> count_readers(const Differentiated& differentiated) {
  std::vector<int> readers = count_readers(differentiated.graph);
  for (const ParameterGradient& g : differentiated.gradients) ++readers[static_cast<std::size_t>(g.gradient)];
  return readers;
}

const Node* sole_producer(const Graph& graph, const std::vector<int>& readers, ValueId id) {
  if (id == no_value || readers[static_cast<std::size_t>(id)] != 1) return nullptr;
  const NodeId producer = graph.value(id).producer;
  if (producer < 0) return nullptr;
  const Node& node = graph.node(producer);
  return node.outputs.front() == id ? &node : nullptr;
}

Rewriter::Rewriter(const Graph& from) : from_(from), map_(from.values().size(), no_value) {
  for (std::size_t i = 0; i < from.values().size(); ++i) {
    const Value& value = from.values()[i];
    if (value.storage == Storage::activation) continue;
    map_[i] = to_.add_value(value.name, value.desc, value.storage);
  }
  for (std::size_t i = 0; i < from.values().size(); ++i) {
    if (map_[i] != no_value) keep_view(static_cast<ValueId>(i));
  }
}

std::vector<ValueId> Rewriter::mapped(const std::vector<ValueId>& ids) const {
  std::vector<ValueId> result;
  for (const ValueId id : ids) result.push_back(mapped(id));
  return result;
}

void Rewriter::copy(const Node& node, std::vector<ValueId> inputs) {
  const std::vector<ValueId> outputs = to_.add_node(node.name, node.op, std::move(inputs), node.phase);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    map(node.outputs[i], outputs[i]);
    keep_view(node.outputs[i]);
  }
}

void Rewriter::keep_view(ValueId id) {
  to_.value(mapped(id)).base = mapped(from_.value(id).base);
  to_.value(mapped(id)).byte_offset = from_.value(id).byte_offset;
}

Graph Rewriter::finish() {
  for (const auto& [name, id] : from_.outputs()) to_.set_output(name, mapped(id));
  return std::move(to_);
}

Differentiated Rewriter::finish(std::vector<ParameterGradient> gradients) {
  for (ParameterGradient& g : gradients) g = {mapped(g.parameter), mapped(g.gradient), mapped(g.rows), mapped(g.used)};
  return {finish(), std::move(gradients)};
}

}  // namespace ptrain

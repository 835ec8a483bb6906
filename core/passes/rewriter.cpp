#include "core/passes/rewriter.h"

namespace ptrain {

Rewriter::Rewriter(const Graph& from) : from_(from), map_(from.values().size(), no_value) {
  for (std::size_t i = 0; i < from.values().size(); ++i) {
    const Value& value = from.values()[i];
    if (value.storage == Storage::activation) continue;
    const ValueId id = to_.add_value(value.name, value.desc, value.storage);
    to_.value(id).base = mapped(value.base);
    to_.value(id).byte_offset = value.byte_offset;
    map_[i] = id;
  }
}

std::vector<ValueId> Rewriter::mapped(const std::vector<ValueId>& ids) const {
  std::vector<ValueId> result;
  for (const ValueId id : ids) result.push_back(mapped(id));
  return result;
}

void Rewriter::copy(const Node& node, std::vector<ValueId> inputs) {
  const std::vector<ValueId> outputs = to_.add_node(node.name, node.op, std::move(inputs), node.phase);
  for (std::size_t i = 0; i < outputs.size(); ++i) map(node.outputs[i], outputs[i]);
}

Graph Rewriter::finish() {
  for (const auto& [name, id] : from_.outputs()) to_.set_output(name, mapped(id));
  return std::move(to_);
}

}  // namespace ptrain

#include "core/passes/keep_outputs.h"

#include "core/base/errors.h"

#include <algorithm>

namespace ptrain {
namespace {

/// By value: whether one of `outputs` depends on it.
std::vector<bool> find_needed(const Graph& graph, const std::vector<ValueId>& outputs) {
  std::vector<bool> needed(graph.values().size(), false);
  for (const ValueId output : outputs) needed[static_cast<std::size_t>(output)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](ValueId id) { return needed[static_cast<std::size_t>(id)]; });
    if (!used) continue;
    for (const ValueId id : node->inputs) {
      if (id != no_value) needed[static_cast<std::size_t>(id)] = true;
    }
  }
  return needed;
}

}  // namespace

Graph keep_outputs(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<ValueId> outputs;
  for (const std::string& name : names) {
    outputs.push_back(graph.find_output(name));
    invariant(outputs.back() != no_value, "the graph has no output of the requested name");
  }
  const std::vector<bool> needed = find_needed(graph, outputs);
  const auto is_needed = [&](ValueId id) { return needed[static_cast<std::size_t>(id)]; };
  Graph kept;
  std::vector<ValueId> map(graph.values().size(), no_value);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (!needed[i] || value.storage == Storage::activation) continue;
    invariant(value.base == no_value, "a forward graph has no views");
    map[i] = kept.add_value(value.name, value.desc, value.storage);
  }
  for (const Node& node : graph.nodes()) {
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_needed)) continue;
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(id == no_value ? id : map[static_cast<std::size_t>(id)]);
    const std::vector<ValueId> made = kept.add_node(node.name, node.op, std::move(inputs), node.phase);
    for (std::size_t i = 0; i < made.size(); ++i) map[static_cast<std::size_t>(node.outputs[i])] = made[i];
  }
  for (std::size_t i = 0; i < names.size(); ++i) kept.set_output(names[i], map[static_cast<std::size_t>(outputs[i])]);
  return kept;
}

}  // namespace ptrain

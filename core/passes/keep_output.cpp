#include "core/passes/keep_output.h"

#include "core/base/errors.h"

#include <algorithm>

namespace ptrain {
namespace {

/// By value: whether `output` depends on it.
std::vector<bool> find_needed(const Graph& graph, ValueId output) {
  std::vector<bool> needed(graph.values().size(), false);
  needed[static_cast<std::size_t>(output)] = true;
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

Graph keep_output(const Graph& graph, std::string_view name) {
  const ValueId output = graph.find_output(name);
  invariant(output != no_value, "the graph has no output of the name that is to be kept");
  const std::vector<bool> needed = find_needed(graph, output);
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
    const std::vector<ValueId> outputs = kept.add_node(node.name, node.op, std::move(inputs), node.phase);
    for (std::size_t i = 0; i < outputs.size(); ++i) map[static_cast<std::size_t>(node.outputs[i])] = outputs[i];
  }
  kept.set_output(std::string(name), map[static_cast<std::size_t>(output)]);
  return kept;
}

}  // namespace ptrain

#include "core/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {
namespace {

std::string_view storage_name(Storage storage) {
  switch (storage) {
    case Storage::input:
      return "input";
    case Storage::parameter:
      return "parameter";
    case Storage::state:
      return "state";
    case Storage::activation:
      return "activation";
  }
  return "";
}

std::string print_node(const Graph& graph, const Node& node) {
  std::vector<std::string> inputs, outputs, types;
  for (const ValueId id : node.inputs) inputs.push_back(id == no_value ? "-" : fmt::format("%{}", id));
  for (const ValueId id : node.outputs) {
    outputs.push_back(fmt::format("%{}", id));
    types.push_back(graph.desc(id).to_string());
  }
  const std::string attributes = node.op->attributes();
  return fmt::format("{} = {}({}){}{} : {}  # {}\n", fmt::join(outputs, ", "), node.op->type(), fmt::join(inputs, ", "),
                     attributes.empty() ? "" : " ", attributes, fmt::join(types, ", "), node.name);
}

}  // namespace

std::string print(const Graph& graph) {
  std::string text;
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.storage == Storage::activation && value.base == no_value) continue;
    text += fmt::format("%{} = {} {} {}", i, storage_name(value.storage), value.desc.to_string(), value.name);
    if (value.base != no_value) text += fmt::format(" @ %{}+{}", value.base, value.byte_offset);
    text += '\n';
  }
  const Pass* last = nullptr;
  for (const Node& node : graph.nodes()) {
    if (!last || *last != node.phase) text += fmt::format("# {}\n", phase_name(node.phase));
    last = &node.phase;
    text += print_node(graph, node);
  }
  for (const auto& [name, id] : graph.outputs()) text += fmt::format("output {} = %{}\n", name, id);
  return text;
}

}  // namespace ptrain

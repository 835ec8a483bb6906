#include "core/graph/graph.h"

#include <fmt/format.h>

#include <stdexcept>

namespace ptrain {
namespace {

void require(bool condition, const Node& node, std::string_view what) {
  if (!condition)
    throw std::logic_error(fmt::format("internal error: graph: {} ({}): {}", node.name, node.op->type(), what));
}

bool exists(const Graph& graph, ValueId id) { return id >= 0 && static_cast<std::size_t>(id) < graph.values().size(); }

void verify_inputs(const Graph& graph, const Node& node, const std::vector<bool>& made) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == no_value) continue;
    require(exists(graph, id), node, "input does not exist");
    const Value& value = graph.value(id);
    require(value.storage != Storage::activation || made[static_cast<std::size_t>(id)], node,
            fmt::format("input {} ({}) is used before it is made", i, value.name));
    const Storage root = graph.value(graph.root(id)).storage;
    const bool persists = root == Storage::state || root == Storage::parameter;
    require(!node.op->mutates_input(static_cast<int>(i)) || persists, node,
            fmt::format("input {} ({}) is written in place but is neither state nor a parameter", i, value.name));
  }
}

void verify_view(const Graph& graph, const Value& value) {
  if (value.base == no_value) return;
  if (!exists(graph, value.base))
    throw std::logic_error("internal error: graph: the base of " + value.name + " does not exist");
  const Value& base = graph.value(value.base);
  if (value.byte_offset < 0 || value.byte_offset + static_cast<std::int64_t>(value.desc.bytes()) >
                                   static_cast<std::int64_t>(base.desc.bytes())) {
    throw std::logic_error(fmt::format("internal error: graph: view {} reaches outside {}", value.name, base.name));
  }
}

}  // namespace

void verify(const Graph& graph) {
  std::vector<bool> made(graph.values().size(), false);
  for (const Value& value : graph.values()) verify_view(graph, value);
  for (const Node& node : graph.nodes()) {
    verify_inputs(graph, node, made);
    const std::vector<TensorDesc> expected = node.op->infer(graph.input_descs(node));
    require(expected.size() == node.outputs.size(), node, "number of outputs differs from inference");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      require(exists(graph, node.outputs[i]), node, "output does not exist");
      const auto id = static_cast<std::size_t>(node.outputs[i]);
      require(graph.value(node.outputs[i]).storage == Storage::activation, node, "output is not an activation");
      require(!made[id], node, "output is made twice");
      require(graph.desc(node.outputs[i]) == expected[i], node,
              fmt::format("output {} is {} but inference gives {}", i, graph.desc(node.outputs[i]).to_string(),
                          expected[i].to_string()));
      made[id] = true;
    }
  }
  for (const auto& [name, id] : graph.outputs()) {
    if (!exists(graph, id)) throw std::logic_error("internal error: graph: output " + name + " does not exist");
    if (graph.value(id).storage == Storage::activation && !made[static_cast<std::size_t>(id)]) {
      throw std::logic_error("internal error: graph: output " + name + " is never made");
    }
  }
}

}  // namespace ptrain

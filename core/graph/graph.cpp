#include "core/graph/graph.h"

#include "core/base/errors.h"

#include <fmt/format.h>

#include <stdexcept>

namespace ptrain {

ValueId Graph::add_value(std::string name, TensorDesc desc, Storage storage) {
  Value value;
  value.name = std::move(name);
  value.desc = std::move(desc);
  value.storage = storage;
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

std::vector<ValueId> Graph::add_node(std::string name, OpPtr op, std::vector<ValueId> inputs, Pass phase) {
  Node node{std::move(name), std::move(op), std::move(inputs), {}, phase};
  std::vector<TensorDesc> descs;
  try {
    descs = node.op->infer(input_descs(node));
  } catch (const std::invalid_argument& error) {
    fail_usage("{} ({}): {}", node.name, node.op->type(), error.what());
  }
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const ValueId id =
        add_value(i == 0 ? node.name : fmt::format("{}:{}", node.name, i), descs[i], Storage::activation);
    value(id).producer = static_cast<NodeId>(nodes_.size());
    node.outputs.push_back(id);
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

void Graph::set_output(std::string name, ValueId value) { outputs_.emplace_back(std::move(name), value); }

ValueId Graph::find_output(std::string_view name) const {
  for (const auto& [output_name, value] : outputs_) {
    if (output_name == name) return value;
  }
  return no_value;
}

ValueId Graph::add_part(ValueId state, std::int64_t begin, std::int64_t end) {
  const ValueId part =
      add_state(fmt::format("{}[{}:{}]", value(state).name, begin, end), {desc(state).dtype, Shape{end - begin}});
  place(part, state, begin);
  return part;
}

void Graph::place(ValueId id, ValueId state, std::int64_t begin) {
  value(id).base = state;
  value(id).byte_offset = begin * static_cast<std::int64_t>(element_size(desc(id).dtype));
}

ValueId Graph::root(ValueId id) const {
  while (value(id).base != no_value) id = value(id).base;
  return id;
}

ValueId Graph::find_value(std::string_view name) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].name == name) return static_cast<ValueId>(i);
  }
  return no_value;
}

std::vector<TensorDesc> Graph::input_descs(const Node& node) const {
  std::vector<TensorDesc> descs;
  for (const ValueId id : node.inputs) descs.push_back(id == no_value ? absent_input() : desc(id));
  return descs;
}

std::vector<TensorDesc> Graph::output_descs(const Node& node) const {
  std::vector<TensorDesc> descs;
  for (const ValueId id : node.outputs) descs.push_back(desc(id));
  return descs;
}

}  // namespace ptrain

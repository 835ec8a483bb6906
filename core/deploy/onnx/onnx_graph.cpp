// Field numbers are those of onnx.proto.
#include "core/deploy/onnx/onnx_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

namespace attribute_field {
constexpr int name = 1, real = 2, integer = 3, text = 4, integers = 8, type = 20;
}
namespace attribute_type {
constexpr int real = 1, integer = 2, text = 3, integers = 7;
}
namespace node_field {
constexpr int input = 1, output = 2, name = 3, type = 4, attribute = 5;
}
namespace tensor_field {
constexpr int dims = 1, type = 2, name = 8, raw_data = 9;
}
namespace graph_field {
constexpr int node = 1, name = 2, initializer = 5, input = 11, output = 12;
}

ProtoMessage make_attribute_message(const OnnxAttribute& attribute) {
  ProtoMessage message;
  message.text(attribute_field::name, attribute.name);
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    message.integer(attribute_field::integer, *integer).integer(attribute_field::type, attribute_type::integer);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    message.real(attribute_field::real, *real).integer(attribute_field::type, attribute_type::real);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    message.text(attribute_field::text, *text).integer(attribute_field::type, attribute_type::text);
  } else {
    for (const std::int64_t value : std::get<std::vector<std::int64_t>>(attribute.value)) {
      message.integer(attribute_field::integers, value);
    }
    message.integer(attribute_field::type, attribute_type::integers);
  }
  return message;
}

/// ValueInfoProto: name 1, type 2; TypeProto: tensor 1; its element type 1 and shape 2; TensorShapeProto: axis 1, with
/// its extent 1 or its name 2.
ProtoMessage make_value_message(const std::string& name, OnnxType type, const std::vector<OnnxAxis>& axes) {
  ProtoMessage shape;
  for (const OnnxAxis& axis : axes) {
    ProtoMessage one;
    if (const auto* extent = std::get_if<std::int64_t>(&axis)) {
      one.integer(1, *extent);
    } else {
      one.text(2, std::get<std::string>(axis));
    }
    shape.message(1, one);
  }
  ProtoMessage tensor, holder, value;
  tensor.integer(1, static_cast<std::int64_t>(type)).message(2, shape);
  holder.message(1, tensor);
  value.text(1, name).message(2, holder);
  return value;
}

}  // namespace

std::string OnnxGraph::unique(const std::string& name) {
  std::string candidate = name;
  for (int i = 1;; ++i) {
    const auto at = std::lower_bound(names_.begin(), names_.end(), candidate);
    if (at == names_.end() || *at != candidate) {
      names_.insert(at, candidate);
      return candidate;
    }
    candidate = fmt::format("{}/{}", name, i);
  }
}

std::string OnnxGraph::add(const std::string& name, const std::string& type, const Names& inputs,
                           const std::vector<OnnxAttribute>& attributes) {
  return add_outputs(name, type, inputs, attributes, 1).front();
}

OnnxGraph::Names OnnxGraph::add_outputs(const std::string& name, const std::string& type, const Names& inputs,
                                        const std::vector<OnnxAttribute>& attributes, std::size_t count) {
  Names results;
  ProtoMessage node;
  for (const std::string& input : inputs) node.text(node_field::input, input);
  while (results.size() < count) node.text(node_field::output, results.emplace_back(unique(name)));
  node.text(node_field::name, results.front()).text(node_field::type, type);
  for (const OnnxAttribute& attribute : attributes)
    node.message(node_field::attribute, make_attribute_message(attribute));
  nodes_.push_back(std::move(node));
  return results;
}

std::string OnnxGraph::add_constant(const std::string& name, const std::vector<std::int64_t>& dims, OnnxType type,
                                    std::span<const std::byte> bytes) {
  std::string result = unique(name);
  ProtoMessage tensor;
  for (const std::int64_t extent : dims) tensor.integer(tensor_field::dims, extent);
  tensor.integer(tensor_field::type, static_cast<std::int64_t>(type)).text(tensor_field::name, result);
  tensor.bytes(tensor_field::raw_data, bytes);
  constants_.push_back(std::move(tensor));
  return result;
}

std::string OnnxGraph::constant(const std::string& name, const std::vector<std::int64_t>& dims,
                                std::span<const float> values) {
  return add_constant(name, dims, OnnxType::f32, std::as_bytes(values));
}

std::string OnnxGraph::constant(const std::string& name, const std::vector<std::int64_t>& dims,
                                std::span<const std::int64_t> values) {
  return add_constant(name, dims, OnnxType::i64, std::as_bytes(values));
}

void OnnxGraph::add_input(const std::string& name, OnnxType type, const std::vector<OnnxAxis>& axes) {
  inputs_.push_back(make_value_message(unique(name), type, axes));
}

void OnnxGraph::add_output(const std::string& name, OnnxType type, const std::vector<OnnxAxis>& axes) {
  outputs_.push_back(make_value_message(name, type, axes));
}

ProtoMessage OnnxGraph::message(const std::string& name) const {
  ProtoMessage graph;
  for (const ProtoMessage& node : nodes_) graph.message(graph_field::node, node);
  graph.text(graph_field::name, name);
  for (const ProtoMessage& constant : constants_) graph.message(graph_field::initializer, constant);
  for (const ProtoMessage& input : inputs_) graph.message(graph_field::input, input);
  for (const ProtoMessage& output : outputs_) graph.message(graph_field::output, output);
  return graph;
}

}  // namespace ptrain

// An ONNX graph under construction: nodes, initializers, inputs and outputs, by name
// (https://github.com/onnx/onnx/blob/main/docs/IR.md).
#pragma once

#include "core/deploy/onnx/protobuf.h"

#include <initializer_list>
#include <variant>
#include <vector>

namespace ptrain {

enum class OnnxType { f32 = 1, u8 = 2, s8 = 3, i32 = 6, i64 = 7, boolean = 9 };

struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>> value;
};

/// An axis of an input or output: its extent, or the name of a dynamic one.
using OnnxAxis = std::variant<std::int64_t, std::string>;

class OnnxGraph {
 public:
  using Names = std::vector<std::string>;

  /// Adds a node with one result named like the node: `name`, made unique. Returns that name.
  std::string add(const std::string& name, const std::string& type, const Names& inputs,
                  const std::vector<OnnxAttribute>& attributes = {});
  /// Adds a node with several results. Returns their names, `name` made unique.
  Names add_outputs(const std::string& name, const std::string& type, const Names& inputs,
                    const std::vector<OnnxAttribute>& attributes, std::size_t count);
  /// Adds constants; `name` is made unique and returned. No dims: a scalar.
  std::string constant(const std::string& name, const std::vector<std::int64_t>& dims, std::span<const float> values);
  std::string constant(const std::string& name, const std::vector<std::int64_t>& dims,
                       std::span<const std::int64_t> values);
  /// Adds integers of one byte each.
  std::string integers(const std::string& name, const std::vector<std::int64_t>& dims, OnnxType type,
                       std::span<const std::byte> values) {
    return add_constant(name, dims, type, values);
  }
  std::string scalar(const std::string& name, float value) { return constant(name, {}, std::span(&value, 1)); }

  void add_input(const std::string& name, OnnxType type, const std::vector<OnnxAxis>& axes);
  void add_output(const std::string& name, OnnxType type, const std::vector<OnnxAxis>& axes);

  /// The graph as a GraphProto.
  ProtoMessage message(const std::string& name) const;

 private:
  std::string unique(const std::string& name);
  std::string add_constant(const std::string& name, const std::vector<std::int64_t>& dims, OnnxType type,
                           std::span<const std::byte> bytes);

  std::vector<ProtoMessage> nodes_, constants_, inputs_, outputs_;
  std::vector<std::string> names_;  // names in use, sorted
};

}  // namespace ptrain

// Adds ONNX nodes that are named after the node of the graph that they translate.
#pragma once

#include "core/base/errors.h"
#include "core/deploy/onnx/translation.h"

namespace ptrain {

/// `what` is added to the node's name.
class NodeTranslator {
 public:
  NodeTranslator(const Node& node, Translation& t) : node_(node), t_(t) {}

  const std::string& input(int index) { return t_.name(node_.inputs[static_cast<std::size_t>(index)]); }
  const Shape& input_shape(int index) const { return t_.shape(node_.inputs[static_cast<std::size_t>(index)]); }
  void set_output(std::string name) { t_.name(node_.outputs[0], std::move(name)); }

  std::string add(const char* what, const char* type, const OnnxGraph::Names& inputs,
                  const std::vector<OnnxAttribute>& attributes = {}) {
    return t_.to().add(node_.name + what, type, inputs, attributes);
  }
  std::string integers(const std::vector<std::int64_t>& values) {
    return t_.to().constant(node_.name + ".integers", {static_cast<std::int64_t>(values.size())}, values);
  }
  std::string number(float value) { return t_.to().scalar(node_.name + ".number", value); }
  std::string reshape(const char* what, const std::string& x, const std::vector<std::int64_t>& form) {
    return add(what, "Reshape", {x, integers(form)});
  }
  std::string transpose(const char* what, const std::string& x, const std::vector<std::int64_t>& order) {
    return add(what, "Transpose", {x}, {{"perm", order}});
  }
  std::string unsqueeze(const char* what, const std::string& x, std::int64_t axis) {
    return add(what, "Unsqueeze", {x, integers({axis})});
  }
  std::string slice(const char* what, const std::string& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
    return add(what, "Slice", {x, integers({begin}), integers({end}), integers({axis})});
  }
  std::string concat(const char* what, const OnnxGraph::Names& parts, std::int64_t axis) {
    return add(what, "Concat", parts, {{"axis", axis}});
  }
  /// Throws Error{failed}: the node is `what`.
  [[noreturn]] void refuse(const std::string& what) const {
    fail("{}: {} has no translation to ONNX", node_.name, what);
  }

 private:
  const Node& node_;
  Translation& t_;
};

}  // namespace ptrain

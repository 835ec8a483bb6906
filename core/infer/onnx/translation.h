// What a deployed graph's values and variables are called in ONNX, while its nodes are translated one after the other.
#pragma once

#include "core/exec/variables.h"
#include "core/graph/graph.h"
#include "core/infer/onnx/onnx_graph.h"
#include "core/ops/activation.h"

#include <functional>

namespace ptrain {

/// Images are [N,C,H,W] there, as ONNX has them, without the channels that pad them here.
class Translation {
 public:
  Translation(const Graph& graph, const Variables& variables) : graph_(graph), variables_(variables) {}

  const Graph& from() const { return graph_; }
  OnnxGraph& to() { return to_; }

  void name(ValueId value, std::string name) { names_[value] = std::move(name); }
  /// Of a value that was translated. A parameter becomes a constant as it is.
  const std::string& name(ValueId value);
  const Shape& shape(ValueId value) const { return graph_.desc(value).shape; }
  std::vector<float> values(ValueId parameter) const { return variables_.read_f32(graph_.value(parameter).name); }
  const std::string& variable(ValueId parameter) const { return graph_.value(parameter).name; }

  /// Channels of the image that are padding here, and are left out there.
  void set_padding_channels(ValueId value, std::int64_t channels) { padding_channels_[value] = channels; }
  std::int64_t padding_channels(ValueId value) const;

 private:
  const Graph& graph_;
  const Variables& variables_;
  OnnxGraph to_;
  std::map<ValueId, std::string> names_;
  std::map<ValueId, std::int64_t> padding_channels_;
};

using TranslateNode = void (*)(const Node& node, Translation& translation);
/// Null where ONNX has no form of the op.
TranslateNode find_translation(std::string_view op_type);

void translate_embedding(const Node& node, Translation& translation);
void translate_attention(const Node& node, Translation& translation);
/// The value after the activation; `x` itself without one.
std::string translate_activation(Activation activation, const std::string& x, Translation& translation);

/// What texts' inputs are called there: as transformers exports name them.
namespace onnx_io {
inline constexpr const char* attention_mask = "attention_mask";  // i64 [N,S], 1 for tokens
}

}  // namespace ptrain

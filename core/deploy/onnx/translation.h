// What a deployed graph's values and variables are called in ONNX, while its nodes are translated one after the other.
#pragma once

#include "core/deploy/onnx/onnx_graph.h"
#include "core/exec/variables.h"
#include "core/graph/graph.h"
#include "core/ops/activation.h"
#include "core/ops/image/conv2d.h"

#include <functional>

namespace ptrain {

/// A node's op as its own class.
template <typename T>
const T& get_op(const Node& node) {
  return static_cast<const T&>(*node.op);
}

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
  /// Of a parameter in 8 bits.
  std::vector<std::int8_t> integers(ValueId parameter) const;
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

/// Whether optional input `input` of a node is there.
inline bool is_given(const Node& node, int input) {
  return node.inputs.size() > static_cast<std::size_t>(input) &&
         node.inputs[static_cast<std::size_t>(input)] != no_value;
}

/// Filters of shape `s` [K,R,S,C] as [K,channels,R,S]: the last channels may be left out.
template <typename T>
std::vector<T> channels_first(const std::vector<T>& from, const Shape& s, std::int64_t channels) {
  const std::int64_t pixels = s[1] * s[2];
  std::vector<T> to;
  to.reserve(static_cast<std::size_t>(s[0] * channels * pixels));
  for (std::int64_t k = 0; k < s[0]; ++k) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t p = 0; p < pixels; ++p)
        to.push_back(from[static_cast<std::size_t>((k * pixels + p) * s[3] + c)]);
    }
  }
  return to;
}

/// Of a convolution with filters [K,R,S,C].
std::vector<OnnxAttribute> convolution_attributes(const Conv2dAttributes& conv, const Shape& filters);

/// Each adds to `translation.to()` what stands for one node.
void translate_quantize(const Node& node, Translation& translation);
void translate_dequantize(const Node& node, Translation& translation);
void translate_quantized_conv2d(const Node& node, Translation& translation);
void translate_quantized_linear(const Node& node, Translation& translation);
void translate_embedding(const Node& node, Translation& translation);
void translate_attention(const Node& node, Translation& translation);
/// The value after the activation; `x` itself without one.
std::string translate_activation(Activation activation, const std::string& x, Translation& translation);

/// What texts' inputs are called there: as transformers exports name them.
namespace onnx_io {
inline constexpr const char* attention_mask = "attention_mask";  // i64 [N,S], 1 for tokens
}

}  // namespace ptrain

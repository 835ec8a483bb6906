// Maps a deployed graph's values and variables to ONNX names during the translation of its nodes.
#pragma once

#include "core/deploy/onnx/onnx_graph.h"
#include "core/exec/variables.h"
#include "core/graph/graph.h"
#include "core/ops/activation.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/quantization/quantized_format.h"

#include <functional>

namespace ptrain {

/// A node's op, cast to its class.
template <typename T>
const T& get_op(const Node& node) {
  return static_cast<const T&>(*node.op);
}

/// Images are [N,C,H,W] in ONNX, without the channels that pad them here.
class Translation {
 public:
  Translation(const Graph& graph, const Variables& variables) : graph_(graph), variables_(variables) {}

  const Graph& from() const { return graph_; }
  OnnxGraph& to() { return to_; }

  void name(ValueId value, std::string name) { names_[value] = std::move(name); }
  bool has_name(ValueId value) const { return names_.contains(value); }
  /// The name of a translated value. A parameter becomes a constant, unchanged.
  const std::string& name(ValueId value);
  const Shape& shape(ValueId value) const { return graph_.desc(value).shape; }
  std::vector<float> values(ValueId parameter) const { return variables_.read_f32(graph_.value(parameter).name); }
  /// Values of an 8-bit parameter.
  std::vector<std::int8_t> integers(ValueId parameter) const;
  const std::string& variable(ValueId parameter) const { return graph_.value(parameter).name; }

  /// Sets the number of padding channels of an image, which ONNX does not have.
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
/// Null if the op has no translation.
TranslateNode find_translation(std::string_view op_type);

/// Whether a node has the optional input `input`.
inline bool is_given(const Node& node, int input) {
  return node.inputs.size() > static_cast<std::size_t>(input) &&
         node.inputs[static_cast<std::size_t>(input)] != no_value;
}

/// Filters of shape `s` [K,R,S,C] as [K,channels,R,S], optionally without the last channels.
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

/// Attributes of a convolution with filters [K,R,S,C].
std::vector<OnnxAttribute> convolution_attributes(const Conv2dAttributes& conv, const Shape& filters);

/// Adds a conversion of `x` to 8 bits, whose nodes have names that begin with `name`; the name of the integers.
std::string quantize(const std::string& name, const std::string& x, const QuantizedFormat& format, Translation& t);

/// Each translates one node into nodes of `translation.to()`.
void translate_quantize(const Node& node, Translation& translation);
void translate_dequantize(const Node& node, Translation& translation);
void translate_quantized_conv2d(const Node& node, Translation& translation);
void translate_quantized_linear(const Node& node, Translation& translation);
void translate_embedding(const Node& node, Translation& translation);
void translate_attention(const Node& node, Translation& translation);
void translate_table_lookup(const Node& node, Translation& translation);
void translate_rotary_table(const Node& node, Translation& translation);
void translate_rotary_embedding(const Node& node, Translation& translation);
void translate_rms_norm(const Node& node, Translation& translation);
void translate_swiglu(const Node& node, Translation& translation);
void translate_append_cache(const Node& node, Translation& translation);
void translate_cached_attention(const Node& node, Translation& translation);
void translate_detect_objects(const Node& node, Translation& translation);
void translate_detect_regions(const Node& node, Translation& translation);
void translate_roi_align(const Node& node, Translation& translation);
void translate_box_distances(const Node& node, Translation& translation);
void translate_add(const Node& node, Translation& translation);
void translate_batched_matmul(const Node& node, Translation& translation);
void translate_binary(const Node& node, Translation& translation);
void translate_concat(const Node& node, Translation& translation);
void translate_expand(const Node& node, Translation& translation);
void translate_gather(const Node& node, Translation& translation);
void translate_pointwise_chain(const Node& node, Translation& translation);
void translate_recurrent(const Node& node, Translation& translation);
void translate_reduce(const Node& node, Translation& translation);
void translate_reshape(const Node& node, Translation& translation);
void translate_scale(const Node& node, Translation& translation);
void translate_slice(const Node& node, Translation& translation);
void translate_transpose(const Node& node, Translation& translation);
void translate_unary(const Node& node, Translation& translation);
/// Whether only recurrent layers read the node's result, so that it becomes a part of theirs in ONNX.
bool is_part_of_recurrence(const Node& node, const Graph& graph);

/// A value of `shape` with its axes in the graph's order: of images, whose channels come first in ONNX, transposed.
std::string add_in_graph_order(const Node& node, const std::string& x, const Shape& shape, Translation& translation);
std::string add_in_graph_order(const Node& node, ValueId x, Translation& translation);
/// Sets the node's output to a value whose axes are in the graph's order.
void set_in_graph_order(const Node& node, std::string y, Translation& translation);

/// The value after the activation; `x` itself without one.
std::string translate_activation(Activation activation, const std::string& x, Translation& translation);

/// Names of the inputs of texts, as in exports of transformers (Optimum's for those with a cache). P: tokens of the
/// past.
namespace onnx_io {
inline constexpr const char* attention_mask = "attention_mask";       // i64 [N,S], with a cache [N,P+S], 1 for tokens
inline constexpr const char* position_ids = "position_ids";           // i64 [N,S], with a cache
inline constexpr const char* source_mask = "encoder_attention_mask";  // i64 [N,M], of a translator's source
/// Not inputs: the names of what add_causal_offsets() and add_source_offsets() add.
inline constexpr const char* causal_offsets = "causal_offsets";
inline constexpr const char* source_offsets = "source_offsets";
}  // namespace onnx_io

/// What is added to the scores of a mask's tokens (i64 [N,S], 1 for tokens): 0 for those, -1e9 for padding, f32 [N,S]
/// with further `axes`.
std::string add_padding_offsets(OnnxGraph& to, const std::string& name, const char* mask,
                                const std::vector<std::int64_t>& axes);
/// Adds onnx_io::causal_offsets f32 [N,1,1,S,P+S], which is added to scores: 0 for the keys that a token sees, up to
/// its own, and -1e9 for later ones and padding.
void add_causal_offsets(OnnxGraph& to);
/// The same for what every token sees all of: onnx_io::source_offsets f32 [N,1,1,1,M], -1e9 for padding.
void add_source_offsets(OnnxGraph& to);
/// Adds onnx_io::position_ids [1,S] of texts that are read from their beginning.
void add_first_positions(OnnxGraph& to);

}  // namespace ptrain

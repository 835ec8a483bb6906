// Replaces convolutions and linear layers of a deployed graph by 8-bit ones.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/quantization/quantized_format.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// The layers and values to compute in 8 bits, by names of the deployed graph.
struct QuantizationScheme {
  std::set<std::string> layers;                    // nodes
  std::map<std::string, QuantizedFormat> formats;  // of values that 8-bit layers read or add
  std::string source;                              // for messages: the file that the scheme was read from
};

/// Whether `node` is a layer that has an 8-bit form: a convolution or a linear layer of constant weights.
bool has_int8_form(const Graph& graph, const Node& node);

/// The value whose format `id` shares: itself, or the input of the max pooling that computes it.
ValueId format_owner(const Graph& graph, ValueId id);

/// The names of the values whose formats a scheme with `layers` needs.
std::set<std::string> values_to_calibrate(const Graph& graph, const std::set<std::string>& layers);

/// Replaces scheme.layers by quantized_conv2d and quantized_linear, whose weights are the variables
/// quantized_name(name) and weight_scale_name(name). An 8-bit layer's output stays in 8 bits where another 8-bit layer,
/// or a max pooling before one, reads it, and where a residual was added in 8 bits; else values pass through quantize
/// and dequantize. Throws Error{failed} naming the source and the layer or format that is unknown, missing or invalid.
Graph quantize_layers(const Graph& graph, const QuantizationScheme& scheme);

/// The variables of a layer's 8-bit weights and their scales, by the name of its fp32 weights.
std::string quantized_name(const std::string& weights);
std::string weight_scale_name(const std::string& weights);

struct QuantizedWeights {
  std::vector<std::int8_t> values;
  std::vector<float> scales;  // by output channel
};

/// Weights of `channels` output channels, the first axis: scale = largest magnitude / 127, and 1 where all are 0.
QuantizedWeights quantize_weights(std::span<const float> weights, std::int64_t channels);

/// Halves the integers and doubles the scale of channels with an integer beyond 64: the sum of two 8-bit products then
/// fits 16 bits.
void keep_from_saturating(QuantizedWeights& weights);

}  // namespace ptrain

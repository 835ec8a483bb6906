// Puts 8-bit convolutions and linear layers in the place of a deployed graph's.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/quantization/quantized_format.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// What is computed in 8 bits, by names of the deployed graph.
struct QuantizationScheme {
  std::set<std::string> layers;                    // nodes
  std::map<std::string, QuantizedFormat> formats;  // of values that 8-bit layers read or add
  std::string source;                              // for messages: the file that says so
};

/// Whether `node` is a layer that has an 8-bit form: a convolution or a linear layer of constant weights.
bool has_int8_form(const Graph& graph, const Node& node);

/// The value whose format `id` takes: itself, or what a max pooling takes it from.
ValueId format_owner(const Graph& graph, ValueId id);

/// The names of the values whose formats a scheme with `layers` needs.
std::set<std::string> values_to_calibrate(const Graph& graph, const std::set<std::string>& layers);

/// Makes scheme.layers quantized_conv2d and quantized_linear, whose weights are the variables quantized_name(name) and
/// weight_scale_name(name). What an 8-bit layer makes stays in 8 bits where another one or a max pooling before one
/// reads it, and where a residual was added in 8 bits; else values pass through quantize and dequantize. Throws
/// Error{failed} naming source and the layer or format that is unknown, missing or none.
Graph quantize_layers(const Graph& graph, const QuantizationScheme& scheme);

/// Of the variables that hold a layer's 8-bit weights and their scales, by the name of its fp32 weights.
std::string quantized_name(const std::string& weights);
std::string weight_scale_name(const std::string& weights);

struct QuantizedWeights {
  std::vector<std::int8_t> values;
  std::vector<float> scales;  // by output channel
};

/// Weights of `channels` output channels, the first axis: scale = largest magnitude / 127, and 1 where all are 0.
QuantizedWeights quantize_weights(std::span<const float> weights, std::int64_t channels);

/// Halves integers, and doubles scales, where any is beyond 64: two products with values of 8 bits then fit 16 bits.
void keep_from_saturating(QuantizedWeights& weights);

}  // namespace ptrain

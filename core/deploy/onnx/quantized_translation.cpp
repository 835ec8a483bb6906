// 8-bit layers in ONNX's QDQ form: QuantizeLinear and DequantizeLinear around the float operator, which runtimes fuse
// into integer kernels. An 8-bit value has the ONNX name of its integers.
#include "core/deploy/onnx/translation.h"

#include "core/ops/image/conv2d.h"
#include "core/ops/quantization/quantize.h"
#include "core/ops/quantization/quantized_conv2d.h"
#include "core/ops/quantization/quantized_linear.h"

namespace ptrain {
namespace {

/// Scale and zero point; the latter's type selects u8 or s8.
OnnxGraph::Names format_constants(const QuantizedFormat& format, const std::string& name, Translation& t) {
  const std::int8_t zero = 0;
  const OnnxType type = format.dtype == DType::u8 ? OnnxType::u8 : OnnxType::s8;
  return {t.to().scalar(name + ".scale", format.scale),
          t.to().integers(name + ".zero_point", {}, type, std::as_bytes(std::span(&zero, 1)))};
}

std::string add_dequantize(ValueId value, const QuantizedFormat& format, Translation& t) {
  const std::string& name = t.name(value);
  const OnnxGraph::Names constants = format_constants(format, name, t);
  return t.to().add(name + ".dq", "DequantizeLinear", {name, constants[0], constants[1]});
}

/// Dequantized weights, whose output channels are `axis` of `dims`.
std::string add_dequantized_weights(const Node& node, const std::vector<std::int64_t>& dims, std::int64_t axis,
                                    std::span<const std::int8_t> integers, Translation& t) {
  const ValueId scales = node.inputs[QuantizedLinear::w_scale];
  const std::vector<std::int8_t> zeros(static_cast<std::size_t>(t.shape(scales)[0]));
  const std::string& name = t.variable(node.inputs[QuantizedLinear::w]);
  const std::string w = t.to().integers(name, dims, OnnxType::s8, std::as_bytes(integers));
  const std::string zero_points =
      t.to().integers(name + ".zero_points", {t.shape(scales)[0]}, OnnxType::s8, std::as_bytes(std::span(zeros)));
  return t.to().add(name + ".dq", "DequantizeLinear", {w, t.name(scales), zero_points}, {{"axis", axis}});
}

/// The epilogue of an 8-bit layer.
void finish(const Node& node, const std::string& sums, Activation activation, const std::optional<QuantizedFormat>& y,
            Translation& t) {
  const std::string result = translate_activation(activation, sums, t);
  t.name(node.outputs[0], y ? quantize(node.name, result, *y, t) : result);
}

}  // namespace

std::string quantize(const std::string& name, const std::string& x, const QuantizedFormat& format, Translation& t) {
  const OnnxGraph::Names constants = format_constants(format, name, t);
  return t.to().add(name + ".q", "QuantizeLinear", {x, constants[0], constants[1]});
}

void translate_quantize(const Node& node, Translation& t) {
  t.set_padding_channels(node.outputs[0], t.padding_channels(node.inputs[0]));
  t.name(node.outputs[0], quantize(node.name, t.name(node.inputs[0]), get_op<Quantize>(node).attrs(), t));
}

void translate_dequantize(const Node& node, Translation& t) {
  t.name(node.outputs[0], add_dequantize(node.inputs[0], get_op<Dequantize>(node).attrs(), t));
}

void translate_quantized_conv2d(const Node& node, Translation& t) {
  const QuantizedConv2dAttributes& attrs = get_op<QuantizedConv2d>(node).attrs();
  const Shape& s = t.shape(node.inputs[QuantizedConv2d::w]);
  const std::int64_t channels = s[3] - t.padding_channels(node.inputs[QuantizedConv2d::x]);
  const std::vector<std::int8_t> filters =
      channels_first<std::int8_t>(t.integers(node.inputs[QuantizedConv2d::w]), s, channels);
  OnnxGraph::Names inputs{add_dequantize(node.inputs[QuantizedConv2d::x], attrs.x, t),
                          add_dequantized_weights(node, {s[0], channels, s[1], s[2]}, 0, filters, t)};
  if (is_given(node, QuantizedConv2d::bias)) inputs.push_back(t.name(node.inputs[QuantizedConv2d::bias]));
  std::string y = t.to().add(node.name, "Conv", inputs, convolution_attributes(attrs.conv, s));
  if (is_given(node, QuantizedConv2d::residual)) {
    const ValueId residual = node.inputs[QuantizedConv2d::residual];
    y = t.to().add(node.name + ".residual", "Add",
                   {y, attrs.residual ? add_dequantize(residual, *attrs.residual, t) : t.name(residual)});
  }
  finish(node, y, attrs.activation, attrs.y, t);
}

void translate_quantized_linear(const Node& node, Translation& t) {
  const QuantizedLinearAttributes& attrs = get_op<QuantizedLinear>(node).attrs();
  const std::int64_t out = t.shape(node.inputs[QuantizedLinear::w])[0],
                     in = t.shape(node.inputs[QuantizedLinear::w])[1];
  const std::vector<std::int8_t> stored = t.integers(node.inputs[QuantizedLinear::w]);
  std::vector<std::int8_t> transposed(stored.size());
  for (std::int64_t n = 0; n < out; ++n) {
    for (std::int64_t k = 0; k < in; ++k) {
      transposed[static_cast<std::size_t>(k * out + n)] = stored[static_cast<std::size_t>(n * in + k)];
    }
  }
  std::string y = t.to().add(node.name, "MatMul",
                             {add_dequantize(node.inputs[QuantizedLinear::x], attrs.x, t),
                              add_dequantized_weights(node, {in, out}, 1, transposed, t)});
  if (is_given(node, QuantizedLinear::bias))
    y = t.to().add(node.name + ".bias", "Add", {y, t.name(node.inputs[QuantizedLinear::bias])});
  finish(node, y, attrs.activation, attrs.y, t);
}

}  // namespace ptrain

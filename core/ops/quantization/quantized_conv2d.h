// Convolution of 8-bit integers, for inference.
#pragma once

#include "core/ops/image/conv2d.h"
#include "core/ops/quantization/quantized_format.h"

#include <optional>

namespace ptrain {

struct QuantizedConv2dAttributes {
  Conv2dAttributes conv;
  Activation activation = Activation::none;
  QuantizedFormat x;
  std::optional<QuantizedFormat> residual = {};  // none: there is no residual, or it is f32
  std::optional<QuantizedFormat> y = {};         // none: f32
};

/// y = activation(x.scale w_scale[k] conv2d(x, w) + bias + residual), sums in 32-bit integers.
/// Inputs: x[N,H,W,C] of its format; w[K,R,S,C/groups] s8; w_scale[K] f32; optional bias[K] f32; optional residual of
/// y's shape, 8-bit where y is, else f32. Output: y[N,P,Q,K], rounded and saturated where it has a format.
class QuantizedConv2d final : public OpWith<QuantizedConv2dAttributes> {
 public:
  enum Input { x, w, w_scale, bias, residual };
  using OpWith::OpWith;

  std::string_view type() const override { return "quantized_conv2d"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool amp_casts_input(int) const override { return false; }
  int inplace_input(int) const override { return residual; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

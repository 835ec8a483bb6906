// Fully connected layer of 8-bit integers, for inference.
#pragma once

#include "core/ops/linear.h"
#include "core/ops/quantization/quantized_format.h"

#include <optional>

namespace ptrain {

struct QuantizedLinearAttributes {
  Activation activation = Activation::none;
  QuantizedFormat x;
  std::optional<QuantizedFormat> y = {};  // none: f32
};

/// y = activation(x.scale w_scale[n] (x w^T) + bias), sums in 32-bit integers.
/// Inputs: x[..., K] of its format; w[N, K] s8; w_scale[N] f32; optional bias[N] f32. Output: y[..., N], rounded and
/// saturated where it has a format.
class QuantizedLinear final : public OpWith<QuantizedLinearAttributes> {
 public:
  enum Input { x, w, w_scale, bias };
  using OpWith::OpWith;

  std::string_view type() const override { return "quantized_linear"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

// Conversion between real values and 8-bit integers.
#pragma once

#include "core/graph/op.h"
#include "core/ops/quantization/quantized_format.h"

namespace ptrain {

/// inputs: x [...] of any floating dtype.  outputs: y [...] of the format's dtype, round(x / scale) with ties to even,
/// saturated.
class Quantize final : public OpWith<QuantizedFormat> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "quantize"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
};

/// inputs: x [...] of the format's dtype.  outputs: y [...] f32, x * scale.
class Dequantize final : public OpWith<QuantizedFormat> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "dequantize"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
};

}  // namespace ptrain

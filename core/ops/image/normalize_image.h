// Decoded 8-bit pixels to normalised ones, with channels padded to a number that convolutions run fast with.
#pragma once

#include "core/graph/op.h"
#include "core/ops/quantization/quantized_format.h"

#include <array>
#include <optional>

namespace ptrain {

struct NormalizeImageAttributes {
  std::array<float, 3> mean{0.485f, 0.456f, 0.406f};  // of pixels scaled to [0, 1]; ImageNet's by default
  std::array<float, 3> deviation{0.229f, 0.224f, 0.225f};
  int channels = 3;          // of the output: those of the input, or up to 3 more
  DType dtype = DType::f32;  // or of the format
  std::optional<QuantizedFormat> format = {};
};

/// Input: pixels u8[N,H,W,3k], k images of 3 channels side by side. Output: y[N,H,W,channels] of `dtype`:
/// (pixel / 255 - mean[c % 3]) / deviation[c % 3], zero in channels from 3k on; with a format in 8 bits, as Quantize
/// makes them of f32. No gradient.
class NormalizeImage final : public OpWith<NormalizeImageAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "normalize_image"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

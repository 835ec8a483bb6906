// Checks that shape inference of 8-bit ops makes.
#pragma once

#include "core/ops/quantization/quantized_format.h"
#include "core/ops/require.h"

#include <cmath>

namespace ptrain {

/// Throws std::invalid_argument where a format is not valid.
inline void require_format(const QuantizedFormat& format, const char* what) {
  require(is_int8(format.dtype), "{}: expected u8 or s8, got {}", what, to_string(format.dtype));
  require(std::isfinite(format.scale) && format.scale > 0, "{}: expected a finite scale above 0, got {}", what,
          format.scale);
}

/// The same, and that `desc` has the format.
inline void require_quantized(const TensorDesc& desc, const QuantizedFormat& format, const char* what) {
  require_format(format, what);
  require(desc.dtype == format.dtype, "{}: expected {}, got {}", what, to_string(format.dtype), desc.to_string());
}

/// Checks s8 weights with one f32 scale per output channel, and an optional f32 bias.
inline void require_quantized_weights(std::span<const TensorDesc> inputs, int w, int w_scale, int bias) {
  const TensorDesc& weights = inputs[static_cast<std::size_t>(w)];
  require(weights.dtype == DType::s8, "w: expected s8, got {}", weights.to_string());
  const TensorDesc channels{DType::f32, Shape{weights.shape[0]}};
  require_desc(inputs[static_cast<std::size_t>(w_scale)], channels, "w_scale");
  if (has_input(inputs, bias)) require_desc(inputs[static_cast<std::size_t>(bias)], channels, "bias");
}

}  // namespace ptrain

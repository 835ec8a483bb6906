// The filter of blur pooling along one axis: 1/4, 1/2, 1/4 around every second pixel, mirrored at the borders.
#pragma once

#include "core/base/dtype.h"

#include <cstdint>

namespace ptrain {

/// Number of outputs along an axis of `size` pixels.
PTRAIN_HD_INLINE std::int64_t blurred_size(std::int64_t size) { return (size - 1) / 2 + 1; }

/// The weight of pixel `in` of `size` in output `out`; 0 beyond its neighbours. A pixel next to the border counts for
/// the mirrored one outside too.
PTRAIN_HD_INLINE float blur_share(std::int64_t out, std::int64_t in, std::int64_t size) {
  const std::int64_t distance = in - 2 * out;
  if (size == 1) return 1.0f;
  if (distance == 0) return 0.5f;
  if (distance != 1 && distance != -1) return 0.0f;
  const bool mirrored = 2 * out == 0 || 2 * out == size - 1;
  return mirrored ? 0.5f : 0.25f;
}

/// Pixels [begin, end) that output `out` reads.
struct BlurRange {
  std::int64_t begin, end;
};
PTRAIN_HD_INLINE BlurRange blurred_pixels(std::int64_t out, std::int64_t size) {
  return {out == 0 ? 0 : 2 * out - 1, 2 * out + 2 < size ? 2 * out + 2 : size};
}
/// Outputs [begin, end) that read pixel `in`.
PTRAIN_HD_INLINE BlurRange blurred_outputs(std::int64_t in, std::int64_t size) {
  const std::int64_t outputs = blurred_size(size), end = (in + 1) / 2 + 1;
  return {in / 2, end < outputs ? end : outputs};
}

}  // namespace ptrain

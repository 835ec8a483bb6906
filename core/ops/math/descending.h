// The order in which top_k takes elements.
#pragma once

#include "core/base/host_device.h"

#include <cstdint>

namespace ptrain {

/// Whether a, element `a_index`, comes before b: NaN first, then the larger, then the lower index.
PTRAIN_HD_INLINE bool comes_before(float a, std::int32_t a_index, float b, std::int32_t b_index) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan != b_nan) return a_nan;
  if (!a_nan && a != b) return a > b;
  return a_index < b_index;
}

}  // namespace ptrain

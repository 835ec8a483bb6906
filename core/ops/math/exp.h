// exp in float without branches or library calls, so that loops over it vectorise on both backends.
#pragma once

#include "core/base/dtype.h"

namespace ptrain {

/// e^x within 2 ulp; 0 is approached below -87, and arguments above 88 are treated as 88. NaN stays NaN.
PTRAIN_HD_INLINE float fast_exp(float x) {
  const float clamped = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  // 1.5 * 2^23 rounds to the nearest integer and leaves it in the low mantissa bits.
  const float shifted = clamped * 1.44269504088896341f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = (clamped - n * 0.693145751953125f) - n * 1.428606765330187e-06f;
  float p = 1.3976291e-03f;
  p = p * r + 8.3634127e-03f;
  p = p * r + 4.1666388e-02f;
  p = p * r + 1.6666503e-01f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * float_of((bits_of(shifted) + 127u) << 23);
}

}  // namespace ptrain

// exp in float without branches or library calls, so that loops over it vectorise on both backends.
#pragma once

#include "core/base/dtype.h"

#include <type_traits>

namespace ptrain {

/// 2^n, where n is in the low mantissa bits of `shifted`.
template <typename V>
PTRAIN_HD_INLINE V power_of_two(V shifted) {
  if constexpr (std::is_same_v<V, float>) {
    return bits_to_float((float_to_bits(shifted) + 127u) << 23);
  } else {
    using Bits = decltype(shifted < shifted);  // integers in lanes of the same width
    return reinterpret_cast<V>((reinterpret_cast<Bits>(shifted) + 127) << 23);
  }
}

/// e^x within 2 ulp; 0 is approached below -87, and arguments above 88 are treated as 88. NaN stays NaN.
/// V is float or a vector of floats.
template <typename V>
PTRAIN_HD_INLINE V fast_exp(V x) {
  const V clamped = x < -87.0f ? V{} - 87.0f : (x > 88.0f ? V{} + 88.0f : x);
  // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low mantissa bits.
  const V shifted = clamped * 1.44269504088896341f + 12582912.0f;
  const V n = shifted - 12582912.0f;
  const V r = (clamped - n * 0.693145751953125f) - n * 1.428606765330187e-06f;
  V p = r * 1.3976291e-03f + 8.3634127e-03f;
  p = p * r + 4.1666388e-02f;
  p = p * r + 1.6666503e-01f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * power_of_two(shifted);
}

}  // namespace ptrain

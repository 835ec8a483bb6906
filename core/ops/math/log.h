// log and log1p in float without branches or library calls, so that loops over them vectorise on both backends.
#pragma once

#include "core/base/dtype.h"

namespace ptrain {

/// The natural logarithm of a normal number above zero, within 2 ulp (Cephes' logf).
PTRAIN_HD_INLINE float normal_log(float x) {
  const std::uint32_t bits = float_to_bits(x) - 0x3f3504f3u;  // relative to sqrt(1/2)
  const float exponent = static_cast<float>(static_cast<std::int32_t>(bits) >> 23);
  const float r = bits_to_float((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float p = 7.0376836292e-2f;
  p = p * r - 1.1514610310e-1f;
  p = p * r + 1.1676998740e-1f;
  p = p * r - 1.2420140846e-1f;
  p = p * r + 1.4249322787e-1f;
  p = p * r - 1.6668057665e-1f;
  p = p * r + 2.0000714765e-1f;
  p = p * r - 2.4999993993e-1f;
  p = p * r + 3.3333331174e-1f;
  return r + (r * r * r * p - 2.12194440e-4f * exponent - 0.5f * r * r) + 0.693359375f * exponent;
}

/// The same for any number: log(0) is -infinity; log of a negative number or NaN is NaN.
PTRAIN_HD_INLINE float fast_log(float x) {
  const bool subnormal = x < 1.17549435e-38f;
  const float y = normal_log(subnormal ? x * 8388608.0f : x) - (subnormal ? 15.9423852f : 0.0f);  // 2^23
  const float infinity = bits_to_float(0x7f800000u), nan = bits_to_float(0x7fc00000u);
  const float ends = x == infinity ? infinity : (x == 0.0f ? -infinity : nan);
  return ((x > 0.0f) & (x < infinity)) ? y : ends;
}

/// log(1 + x), which keeps its relative accuracy near zero: the derivative restores what 1 + x rounds off.
PTRAIN_HD_INLINE float fast_log1p(float x) {
  const float sum = 1.0f + x, kept = sum - 1.0f;
  return fast_log(sum) + (kept == x ? 0.0f : (x - kept) / sum);
}

}  // namespace ptrain

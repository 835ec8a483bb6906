// Difference between the statistics of a fused batch norm and plain ones of the same data.
#pragma once

#include "core/base/dtype.h"

#include <cmath>

namespace ptrain {

/// Drift above which a warning is given. Rounding of fp32 sums stays below a hundredth of it on activations whose mean
/// is up to ten standard deviations from zero.
inline constexpr double statistics_drift_bound = 1e-3;

/// Drift of one channel: the larger of the distance of the means in standard deviations and the relative difference of
/// the inverse standard deviations. Infinite where these are not finite but the plain ones are; 0 where the plain ones
/// are out of range themselves (an infinite variance has the inverse 0), because then the data is to blame.
PTRAIN_HD_INLINE float statistics_drift(float mean, float invstd, float plain_mean, float plain_invstd) {
  const auto is_finite = [](float value) { return value - value == 0; };
  if (!is_finite(plain_mean) || !is_finite(plain_invstd) || plain_invstd == 0) return 0;
  if (!is_finite(mean) || !is_finite(invstd)) return INFINITY;
  const float of_mean = (mean - plain_mean) * plain_invstd;
  const float of_scale = invstd / plain_invstd - 1;
  const float mean_drift = of_mean < 0 ? -of_mean : of_mean;
  const float scale_drift = of_scale < 0 ? -of_scale : of_scale;
  return mean_drift > scale_drift ? mean_drift : scale_drift;
}

}  // namespace ptrain

// The per-channel arithmetic of batch normalisation, between the sums over the data and its application.
#pragma once

#include "core/base/host_device.h"

namespace ptrain {

struct BatchStatistics {
  double mean;
  double variance;  // biased
};

/// From the sum and the sum of squares of `count` values.
PTRAIN_HD_INLINE BatchStatistics batch_statistics(double sum, double sum_of_squares, double count) {
  const double mean = sum / count;
  const double variance = sum_of_squares / count - mean * mean;
  return {mean, variance > 0 ? variance : 0};
}

/// (1 - momentum) old + momentum now
PTRAIN_HD_INLINE float running_average(float old, double now, double momentum) {
  return static_cast<float>((1 - momentum) * static_cast<double>(old) + momentum * now);
}

/// dx = scale g + slope (x - mean) + offset
struct BatchNormGradTerms {
  float scale;
  float slope;
  float offset;
};

/// `dgamma` and `dbeta` are the channel's sums over its `count` elements.
PTRAIN_HD_INLINE BatchNormGradTerms batch_norm_grad_terms(float gamma, float invstd, float dgamma, float dbeta,
                                                          double count) {
  const double scale = static_cast<double>(gamma * invstd);
  return {gamma * invstd,
          static_cast<float>(-scale * static_cast<double>(invstd) * static_cast<double>(dgamma) / count),
          static_cast<float>(-scale * static_cast<double>(dbeta) / count)};
}

}  // namespace ptrain

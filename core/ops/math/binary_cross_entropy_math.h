// Binary cross entropy of a logit against a target in [0, 1], in a form that never overflows, one element at a time.
#pragma once

#include "core/base/host_device.h"

#include <cmath>

namespace ptrain {

/// The target of label 0 or 1.
PTRAIN_HD inline float binary_target(int label, float smoothing) {
  return (label != 0 ? 1.0f - smoothing : 0.0f) + smoothing / 2;
}

/// max(z, 0) - z t + log(1 + exp(-|z|)).
PTRAIN_HD inline float binary_cross_entropy(float z, float target) {
  return (z > 0.0f ? z : 0.0f) - z * target + log1pf(expf(-fabsf(z)));
}

/// 1 / (1 + exp(-z)).
PTRAIN_HD inline float logistic(float z) {
  const float e = expf(-fabsf(z));
  return (z >= 0.0f ? 1.0f : e) / (1.0f + e);
}

}  // namespace ptrain

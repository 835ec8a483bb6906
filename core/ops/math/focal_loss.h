// The sigmoid focal loss (Lin et al. 2017, "Focal loss for dense object detection") with gamma 2, of one logit.
#pragma once

#include "core/ops/math/exp.h"
#include "core/ops/math/log.h"

#include <cmath>

namespace ptrain {

/// p = 1 / (1 + e^-z), and log(1 + e^z), which is the cross entropy of target 0.
struct LogisticTerms {
  float p, cross_entropy;
};

/// Without overflow, for any z.
PTRAIN_HD_INLINE LogisticTerms logistic_terms(float z) {
  const float small = fast_exp(-fabsf(z)), sum = 1.0f + small;
  const float logarithm = normal_log(sum) + (small - (sum - 1.0f)) / sum;  // as in UnaryMath<softplus>
  return {(z < 0.0f ? small : 1.0f) / sum, (z < 0.0f ? 0.0f : z) + logarithm};
}

/// The loss of target 0, p^2 log(1 + e^z); that of target 1 is its value at -z.
PTRAIN_HD_INLINE float focal_loss(float z) {
  const LogisticTerms terms = logistic_terms(z);
  return terms.p * terms.p * terms.cross_entropy;
}

/// Its derivative by z.
PTRAIN_HD_INLINE float focal_loss_gradient(float z) {
  const LogisticTerms terms = logistic_terms(z);
  return terms.p * terms.p * (2.0f * (1.0f - terms.p) * terms.cross_entropy + terms.p);
}

/// The varifocal loss of a logit's own class, whose target and weight is the score q (Zhang et al. 2021): q times the
/// cross entropy of q.
PTRAIN_HD_INLINE float scored_loss(float z, float q) { return q * (logistic_terms(z).cross_entropy - q * z); }

/// Its derivative by z.
PTRAIN_HD_INLINE float scored_loss_gradient(float z, float q) { return q * (logistic_terms(z).p - q); }

}  // namespace ptrain

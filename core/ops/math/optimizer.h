// The parameter updates, one element at a time; both backends iterate over these.
#pragma once

#include "core/base/choices.h"
#include "core/base/host_device.h"

#include <cmath>

namespace ptrain {

struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::momentum;
  float momentum = 0.9f;
  bool nesterov = false;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0.0f;
  float trust_coefficient = 0.001f;  // LARS
  float clip_norm = 0.0f;            // 0: no clipping
};

/// SGD with momentum as PyTorch and Paddle define it: v = m v + (g + wd p); p -= lr v (Nesterov: lr (g + wd p + m v)).
PTRAIN_HD inline float momentum_step(float& parameter, float gradient, float& velocity, float lr, float momentum,
                                     float weight_decay, bool nesterov) {
  const float g = gradient + weight_decay * parameter;
  velocity = momentum * velocity + g;
  parameter -= lr * (nesterov ? g + momentum * velocity : velocity);
  return parameter;
}

/// The bias-corrected Adam direction from moments that are up to date. `correction1` = 1 / (1 - beta1^t), `correction2`
/// = 1 / (1 - beta2^t).
PTRAIN_HD inline float adam_direction(float m, float v, float epsilon, float correction1, float correction2) {
  return (m * correction1) / (sqrtf(v * correction2) + epsilon);
}

/// The same after taking in a gradient.
PTRAIN_HD inline float adam_direction(float gradient, float& m, float& v, float beta1, float beta2, float epsilon,
                                      float correction1, float correction2) {
  m = beta1 * m + (1.0f - beta1) * gradient;
  v = beta2 * v + (1.0f - beta2) * gradient * gradient;
  return adam_direction(m, v, epsilon, correction1, correction2);
}

/// AdamW (Loshchilov and Hutter 2019): decoupled decay, p -= lr (direction + wd p).
PTRAIN_HD inline float adamw_step(float parameter, float direction, float lr, float weight_decay) {
  return parameter * (1.0f - lr * weight_decay) - lr * direction;
}

/// LARS (You et al. 2017): trust * |p| / (|g| + wd |p|), from the sums of squares; 1 when either is zero.
PTRAIN_HD inline float lars_ratio(const OptimizerSettings& s, double parameter_squares, double gradient_squares) {
  if (parameter_squares == 0.0 || gradient_squares == 0.0) return 1.0f;
  const double p = sqrt(parameter_squares), g = sqrt(gradient_squares);
  return static_cast<float>(static_cast<double>(s.trust_coefficient) * p /
                            (g + static_cast<double>(s.weight_decay) * p));
}

/// LAMB (You et al. 2020): |p| / |direction|, from the sums of squares; 1 when either is zero.
PTRAIN_HD inline float lamb_ratio(double parameter_squares, double direction_squares) {
  if (!(parameter_squares > 0.0) || !(direction_squares > 0.0)) return 1.0f;
  return static_cast<float>(sqrt(parameter_squares / direction_squares));
}

/// What is the same for every element of one step.
struct StepFactors {
  float lr = 0.0f;
  float gradient_scale = 1.0f;  // undoes the loss scale and clips
  float correction1 = 1.0f;     // Adam's, from the number of updates
  float correction2 = 1.0f;
};

/// `loss_scale` is 1 without loss scaling, `norm` that of the unscaled gradients, 0 when it is not known; `updates`
/// counts this one.
PTRAIN_HD inline StepFactors step_factors(const OptimizerSettings& s, float lr, float loss_scale, float norm,
                                          float updates) {
  StepFactors f;
  f.lr = lr;
  f.gradient_scale = 1.0f / loss_scale;
  if (s.clip_norm > 0.0f && norm > s.clip_norm) f.gradient_scale *= s.clip_norm / norm;
  if (s.kind == OptimizerKind::adamw || s.kind == OptimizerKind::lamb) {
    const double t = static_cast<double>(updates);
    f.correction1 = static_cast<float>(1.0 / (1.0 - pow(static_cast<double>(s.beta1), t)));
    f.correction2 = static_cast<float>(1.0 / (1.0 - pow(static_cast<double>(s.beta2), t)));
  }
  return f;
}

/// One element by SGD, momentum or AdamW, as `s.kind` says; `m` and `v` are null where it keeps no such moment.
/// `gradient` carries the loss scale.
PTRAIN_HD inline void update_element(const OptimizerSettings& s, const StepFactors& f, float decay, float gradient,
                                     float* p, float* m, float* v) {
  if (s.kind == OptimizerKind::adamw) {
    const float direction =
        adam_direction(gradient * f.gradient_scale, *m, *v, s.beta1, s.beta2, s.epsilon, f.correction1, f.correction2);
    *p = adamw_step(*p, direction, f.lr, decay);
    return;
  }
  float none = 0.0f;
  momentum_step(*p, gradient * f.gradient_scale, m == nullptr ? none : *m, f.lr, m == nullptr ? 0.0f : s.momentum,
                decay, m != nullptr && s.nesterov);
}

}  // namespace ptrain

// The parameter updates, one element at a time; both backends iterate over these.
#pragma once

#include "core/base/host_device.h"

#include <cmath>

namespace ptrain {

enum class OptimizerKind { sgd, momentum, adamw, lars, lamb };

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

/// The bias-corrected Adam direction. `correction1` = 1 / (1 - beta1^t), `correction2` = 1 / (1 - beta2^t).
PTRAIN_HD inline float adam_direction(float gradient, float& m, float& v, float beta1, float beta2, float epsilon,
                                      float correction1, float correction2) {
  m = beta1 * m + (1.0f - beta1) * gradient;
  v = beta2 * v + (1.0f - beta2) * gradient * gradient;
  return (m * correction1) / (sqrtf(v * correction2) + epsilon);
}

}  // namespace ptrain

// The parameter updates, one element at a time, shared by both backends.
#pragma once

#include "core/base/enums.h"
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
  float lr_scale = 1.0f;             // multiplies the step's learning rate
  float alpha = 0.99f;               // RMSProp: decay of the squares
  bool centered = false;             // RMSProp: divide by the variance instead of the mean square
  float initial_accumulator = 0.0f;  // Adagrad: initial value of the sums of squares
  MuonScale muon_scale = MuonScale::original;
  bool row_wise = false;  // Adagrad: one sum per row of a table with sparse updates
};

/// Pointers to the moments of one element; null where an optimizer has no such moment (see moment_count).
struct Moments {
  float* first = nullptr;
  float* second = nullptr;
  float* third = nullptr;
};

/// SGD with momentum as PyTorch and Paddle define it: v = m v + (g + wd p); p -= lr v (Nesterov: lr (g + wd p + m v)).
PTRAIN_HD inline float momentum_step(float& parameter, float gradient, float& velocity, float lr, float momentum,
                                     float weight_decay, bool nesterov) {
  const float g = gradient + weight_decay * parameter;
  velocity = momentum * velocity + g;
  parameter -= lr * (nesterov ? g + momentum * velocity : velocity);
  return parameter;
}

/// The bias-corrected Adam direction from updated moments. `correction1` = 1 / (1 - beta1^t), `correction2` = 1 / (1 -
/// beta2^t).
PTRAIN_HD inline float adam_direction(float m, float v, float epsilon, float correction1, float correction2) {
  return (m * correction1) / (sqrtf(v * correction2) + epsilon);
}

/// Updates the moments with a gradient and returns the direction.
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

/// Adagrad's denominator, as in torch.optim.Adagrad. The sum is kept without its initial value, so that moments can
/// start as zeros.
PTRAIN_HD inline float adagrad_denominator(float sum, float initial, float epsilon) {
  return sqrtf(sum + initial) + epsilon;
}

/// Adagrad (Duchi et al. 2011) as torch.optim.Adagrad without lr_decay: sum += g^2; p -= lr g / (sqrt(sum) + epsilon),
/// g with wd p.
PTRAIN_HD inline float adagrad_step(float parameter, float gradient, float& sum, float lr, float weight_decay,
                                    float initial, float epsilon) {
  const float g = gradient + weight_decay * parameter;
  sum += g * g;
  return parameter - lr * (g / adagrad_denominator(sum, initial, epsilon));
}

/// RMSProp's direction as in torch.optim.RMSprop: g / (sqrt(square) + epsilon), where `square` is the moving average of
/// g^2 with decay alpha.
PTRAIN_HD inline float rmsprop_direction(float g, float& square, float alpha, float epsilon) {
  square = alpha * square + (1.0f - alpha) * g * g;
  return g / (sqrtf(square) + epsilon);
}

/// The centred form: subtracts the square of the moving average of g (Graves 2013); the difference is clamped at 0
/// against rounding.
PTRAIN_HD inline float rmsprop_direction(float g, float& square, float& mean, float alpha, float epsilon) {
  square = alpha * square + (1.0f - alpha) * g * g;
  mean += (1.0f - alpha) * (g - mean);
  const float variance = square - mean * mean;
  return g / (sqrtf(variance > 0.0f ? variance : 0.0f) + epsilon);
}

/// The order of RMSProp's moments: squares, then the velocity with momentum, then the mean if centred.
PTRAIN_HD inline float* rmsprop_velocity(const OptimizerSettings& s, const Moments& m) {
  return s.momentum > 0.0f ? m.second : nullptr;
}
PTRAIN_HD inline float* rmsprop_mean(const OptimizerSettings& s, const Moments& m) {
  if (!s.centered) return nullptr;
  return s.momentum > 0.0f ? m.third : m.second;
}

/// torch.optim.RMSprop: v = momentum v + direction; p -= lr v; without momentum the direction alone. `velocity` and
/// `mean` are null where there is none.
PTRAIN_HD inline float rmsprop_step(const OptimizerSettings& s, float parameter, float gradient, float lr,
                                    float weight_decay, float& square, float* velocity, float* mean) {
  const float g = gradient + weight_decay * parameter;
  float direction = mean == nullptr ? rmsprop_direction(g, square, s.alpha, s.epsilon)
                                    : rmsprop_direction(g, square, *mean, s.alpha, s.epsilon);
  if (velocity != nullptr) direction = *velocity = s.momentum * *velocity + direction;
  return parameter - lr * direction;
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

/// Whether directions are corrected for moments that start at zero.
PTRAIN_HD inline bool corrects_bias(OptimizerKind kind) {
  return kind == OptimizerKind::adamw || kind == OptimizerKind::lamb || kind == OptimizerKind::adam;
}

/// Factors that are the same for every element of one step.
struct StepFactors {
  float lr = 0.0f;
  float gradient_scale = 1.0f;  // undoes the loss scale and clips
  float correction1 = 1.0f;     // Adam's, from the number of updates
  float correction2 = 1.0f;
};

/// Adam (Kingma and Ba 2015) as torch.optim.Adam: the decay is L2, added to the gradient.
PTRAIN_HD inline float adam_step(float parameter, float gradient, float& m, float& v, const OptimizerSettings& s,
                                 const StepFactors& f, float weight_decay) {
  const float g = gradient + weight_decay * parameter;
  return parameter - f.lr * adam_direction(g, m, v, s.beta1, s.beta2, s.epsilon, f.correction1, f.correction2);
}

/// `loss_scale` is 1 without loss scaling; `norm` is the norm of the unscaled gradients, 0 when unknown; `updates`
/// includes this one.
PTRAIN_HD inline StepFactors step_factors(const OptimizerSettings& s, float lr, float loss_scale, float norm,
                                          float updates) {
  StepFactors f;
  f.lr = lr * s.lr_scale;
  f.gradient_scale = 1.0f / loss_scale;
  if (s.clip_norm > 0.0f && norm > s.clip_norm) f.gradient_scale *= s.clip_norm / norm;
  if (corrects_bias(s.kind)) {
    const double t = static_cast<double>(updates);
    f.correction1 = static_cast<float>(1.0 / (1.0 - pow(static_cast<double>(s.beta1), t)));
    f.correction2 = static_cast<float>(1.0 / (1.0 - pow(static_cast<double>(s.beta2), t)));
  }
  return f;
}

/// The moments of element `at`, from pointers to those of the first.
PTRAIN_HD inline Moments moments_at(const Moments& m, long long at) {
  return {m.first == nullptr ? nullptr : m.first + at, m.second == nullptr ? nullptr : m.second + at,
          m.third == nullptr ? nullptr : m.third + at};
}

/// The factor for a row's gradients in row-wise Adagrad, after adding `squares`, the sum of squares of the row's
/// `width` gradients with decay.
PTRAIN_HD inline float row_wise_rate(const OptimizerSettings& s, const StepFactors& f, float& sum, float squares,
                                     long long width) {
  sum += squares / static_cast<float>(width);
  return f.lr / adagrad_denominator(sum, s.initial_accumulator, s.epsilon);
}

/// One element by any optimizer but LARS and LAMB, as `s.kind` says. `gradient` carries the loss scale.
PTRAIN_HD inline void update_element(const OptimizerSettings& s, const StepFactors& f, float decay, float gradient,
                                     float* p, const Moments& m) {
  const float g = gradient * f.gradient_scale;
  if (s.kind == OptimizerKind::adamw) {
    const float direction =
        adam_direction(g, *m.first, *m.second, s.beta1, s.beta2, s.epsilon, f.correction1, f.correction2);
    *p = adamw_step(*p, direction, f.lr, decay);
  } else if (s.kind == OptimizerKind::adam) {
    *p = adam_step(*p, g, *m.first, *m.second, s, f, decay);
  } else if (s.kind == OptimizerKind::adagrad) {
    *p = adagrad_step(*p, g, *m.first, f.lr, decay, s.initial_accumulator, s.epsilon);
  } else if (s.kind == OptimizerKind::rmsprop) {
    *p = rmsprop_step(s, *p, g, f.lr, decay, *m.first, rmsprop_velocity(s, m), rmsprop_mean(s, m));
  } else {
    float none = 0.0f;
    const bool moves = m.first != nullptr;
    momentum_step(*p, g, moves ? *m.first : none, f.lr, moves ? s.momentum : 0.0f, decay, moves && s.nesterov);
  }
}

}  // namespace ptrain

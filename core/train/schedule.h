// Learning rate schedules.
#pragma once

#include "core/base/enums.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace ptrain {

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double lr = 0.1;
  double end_lr = 0;              // cosine, linear, polynomial and warmup_stable_decay: at the last step
  std::int64_t warmup_steps = 0;  // linear from lr / warmup_steps up to lr
  std::int64_t total_steps = 1;
  std::vector<std::int64_t> milestone_steps;  // piecewise: lr is multiplied by gamma at each
  double gamma = 0.1;
  double power = 1;           // polynomial
  double stable_ratio = 0.8;  // warmup_stable_decay: fraction of the steps after warm-up that keep lr
  DecayShape decay_shape = DecayShape::linear;

  /// The learning rate of step `step`, counted from 0. Warm-up comes first; schedules with an end then run to
  /// total_steps, with p from 0 to 1:
  ///   cosine               end_lr + (lr - end_lr) (1 + cos(pi p)) / 2      (torch CosineAnnealingLR)
  ///   linear               lr + (end_lr - lr) p
  ///   polynomial           end_lr + (lr - end_lr) (1 - p)^power            (torch PolynomialLR, where end_lr is 0;
  ///                        transformers get_polynomial_decay_schedule_with_warmup)
  /// warmup_stable_decay  lr up to p = stable_ratio; then, with q from 0 to 1, end_lr + (lr - end_lr) f(q), where f is
  ///                        1 - q, (1 + cos(pi q)) / 2 or 1 - sqrt(q)       (transformers get_wsd_schedule; the last
  ///                        shape is Haegele et al. 2024, "Scaling Laws and Compute-Optimal Training Beyond Fixed
  ///                        Training Durations")
  /// inverse_sqrt has no end: lr sqrt(warmup_steps / n) at the n-th step, counted from 1 (Vaswani et al. 2017, section
  /// 5.3, whose peak d^-0.5 warmup^-0.5 is lr; fairseq inverse_sqrt).
  double at(std::int64_t step) const;
};

}  // namespace ptrain

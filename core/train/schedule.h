// Learning rate schedules.
#pragma once

#include "core/config/config.h"

#include <cstdint>
#include <vector>

namespace ptrain {

struct StepCounts;

/// train.schedule in steps: warmup_steps are those of warmup_ratio too.
struct Schedule : ScheduleConfig {
  double lr = 0.1;
  std::int64_t total_steps = 1;
  std::vector<std::int64_t> milestone_steps;  // piecewise: lr is multiplied by gamma at each

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

/// The schedule of a training of these steps.
Schedule make_schedule(const TrainConfig& train, const StepCounts& counts);

}  // namespace ptrain

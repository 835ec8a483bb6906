#include "core/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ptrain {

double Schedule::at(std::int64_t step) const {
  if (step < warmup_steps) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  const std::int64_t decay_steps = std::max<std::int64_t>(1, total_steps - warmup_steps);
  const double progress = std::min(1.0, static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps));
  switch (kind) {
    case ScheduleKind::cosine:
      return end_lr + (lr - end_lr) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    case ScheduleKind::linear:
      return lr + (end_lr - lr) * progress;
    case ScheduleKind::piecewise: {
      const auto passed = std::count_if(milestone_steps.begin(), milestone_steps.end(),
                                        [&](std::int64_t milestone) { return step >= milestone; });
      return lr * std::pow(gamma, static_cast<double>(passed));
    }
    case ScheduleKind::constant:
      break;
  }
  return lr;
}

}  // namespace ptrain

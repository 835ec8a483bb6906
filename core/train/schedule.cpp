#include "core/train/schedule.h"

#include "core/train/phases.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ptrain {
namespace {

double cosine_fall(double progress) { return 0.5 * (1.0 + std::cos(std::numbers::pi * progress)); }

/// The remaining fraction between the last rate and the full one.
double remaining_share(DecayShape shape, double progress) {
  switch (shape) {
    case DecayShape::linear:
      return 1.0 - progress;
    case DecayShape::cosine:
      return cosine_fall(progress);
    case DecayShape::one_minus_sqrt:
      return 1.0 - std::sqrt(progress);
  }
  return 0.0;
}

}  // namespace

double Schedule::at(std::int64_t step) const {
  if (step < warmup_steps) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  const std::int64_t decay_steps = std::max<std::int64_t>(1, total_steps - warmup_steps);
  const double progress = std::min(1.0, static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps));
  switch (name) {
    case ScheduleKind::cosine:
      return end_lr + (lr - end_lr) * cosine_fall(progress);
    case ScheduleKind::linear:
      return lr + (end_lr - lr) * progress;
    case ScheduleKind::polynomial:
      return end_lr + (lr - end_lr) * std::pow(1.0 - progress, power);
    case ScheduleKind::inverse_sqrt: {
      const auto peak = static_cast<double>(std::max<std::int64_t>(1, warmup_steps));
      return lr * std::sqrt(peak / static_cast<double>(step + 1));
    }
    case ScheduleKind::warmup_stable_decay:
      if (progress <= stable_ratio) return lr;
      return end_lr + (lr - end_lr) * remaining_share(decay_shape, (progress - stable_ratio) / (1.0 - stable_ratio));
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

Schedule make_schedule(const TrainConfig& train, const StepCounts& counts) {
  Schedule schedule{train.schedule, train.optimizer.lr, counts.total_steps, {}};
  schedule.warmup_steps = schedule.count_warmup(counts.total_steps);
  for (const double epoch : schedule.milestones) schedule.milestone_steps.push_back(counts.steps_until(epoch));
  return schedule;
}

}  // namespace ptrain

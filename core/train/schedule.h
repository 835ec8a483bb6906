// Learning rates by step.
#pragma once

#include "core/base/choices.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace ptrain {

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double lr = 0.1;
  double end_lr = 0;              // cosine and linear: at the last step
  std::int64_t warmup_steps = 0;  // linear from lr / warmup_steps up to lr
  std::int64_t total_steps = 1;
  std::vector<std::int64_t> milestone_steps;  // piecewise: lr is multiplied by gamma at each
  double gamma = 0.1;

  /// The learning rate of step `step`, counted from 0. Warm-up first; cosine and linear run from its end to
  /// total_steps.
  double at(std::int64_t step) const;
};

}  // namespace ptrain

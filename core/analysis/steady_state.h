// Where a run's warm-up ends: from which step on its step times neither fall nor drift.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <span>
#include <string>

namespace ptrain {

/// Below these nothing can be told of a warm-up.
constexpr std::int64_t fewest_steps = 8;

struct SteadyRule {
  std::int64_t most_warmup_steps = 0;  // bound of the warm-up; 0: half of the steps
  double drift_percent = 10;           // change between the halves of what follows that is still called steady
  bool required = true;                // false: any eight steps or more will do, however their times wander
};

struct SteadyState {
  bool reached = false;
  std::int64_t warmup_steps = 0;
  double drift_percent = 0;  // of medians
  std::string reason;

  void describe(Fields& field) {
    field("reached", reached, "");
    field("warmup_steps", warmup_steps, "first steps, left out");
    field.any_sign("drift_percent", drift_percent, "second half over first half of the rest");
    field("reason", reason, "why not; empty when reached");
  }
};

/// The warm-up is the truncation that minimises the standard error of the mean of what remains (MSER; White, "An
/// effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997), on logarithms that
/// are first drawn in to a factor of 1.5 (or six robust standard deviations) around the median of the second half, so
/// that one late spike is not taken for a warm-up that never ends. Not reached when there are fewer than eight steps,
/// when the truncation lies at its bound, or when the medians of the two halves of the rest differ by more than the
/// rule's drift and more than three times their own noise.
SteadyState find_steady_state(std::span<const double> step_ms, const SteadyRule& rule = {});

}  // namespace ptrain

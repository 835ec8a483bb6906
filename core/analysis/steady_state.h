// Finds the end of a run's warm-up: the step from which step times neither fall nor drift.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <span>
#include <string>

namespace ptrain {

/// With fewer steps the end of a warm-up cannot be detected.
constexpr std::int64_t fewest_steps = 8;

struct SteadyRule {
  std::int64_t most_warmup_steps = 0;  // bound of the warm-up; 0: half of the steps
  double drift_percent = 10;           // largest change between the halves of the rest
  bool required = true;                // false: accept any eight steps or more, whatever their drift
};

struct SteadyState {
  bool reached = false;
  std::int64_t warmup_steps = 0;
  double drift_percent = 0;  // of medians
  std::string reason;

  void describe(Fields& field) {
    field("reached", reached, "");
    field("warmup_steps", warmup_steps, "number of first steps left out");
    field.any_sign("drift_percent", drift_percent, "median of the second half of the rest over that of the first");
    field("reason", reason, "why it was not reached; empty: reached");
  }
};

/// The warm-up is the truncation that minimises the standard error of the mean of the rest (MSER; White, "An effective
/// truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997), on logarithms clipped to a
/// factor of 1.5 (or six robust standard deviations) around the median of the second half, so that one late spike does
/// not look like an endless warm-up. Not reached with fewer than eight steps, with the truncation at its bound, or when
/// the medians of the two halves of the rest differ by more than the rule's drift and more than three times their own
/// noise.
SteadyState find_steady_state(std::span<const double> step_ms, const SteadyRule& rule = {});

}  // namespace ptrain

// The definition of a run's speed shared by the live table, table, page, effects and comparison.
#pragma once

#include "core/analysis/intervals.h"
#include "core/analysis/run_set.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

constexpr double interval_confidence = 0.95;

/// typical_step: samples of a step over the typical step's time (typical_step() in run_record.h).
enum class SpeedEstimator { typical_step, samples_over_time };
/// In documents: "typical step", "samples over time".
std::string_view to_string(SpeedEstimator estimator);
/// For readers: "10th percentile of step times", "samples over time".
std::string_view spelled_out(SpeedEstimator estimator);

/// typical_step if every step's time of all `runs` is known, else samples_over_time, which reports alone allow.
SpeedEstimator speed_estimator(const std::vector<const MeasuredRun*>& runs);
/// The estimator for all good runs of all cases.
SpeedEstimator speed_estimator(std::span<const RunSet> sets);

/// Samples per second of one run.
double estimate_speed(const RunFigures& figures, SpeedEstimator estimator);

/// The centre of a case's runs in samples per second, with its 95 % interval; both computed on logarithms.
Interval speed_interval(const std::vector<const RunFigures*>& runs, SpeedEstimator estimator);
Interval speed_interval(const std::vector<const MeasuredRun*>& runs, SpeedEstimator estimator);

/// The time of a step within one run and its 95 % interval, from the means of ten blocks of consecutive steps, which
/// are less correlated than steps (batch means: Law, "Simulation Modeling and Analysis", 5th ed., 9.5.3). Unbounded for
/// fewer than twenty steps.
Interval block_interval(std::span<const double> step_ms);

/// "812.3 images/s ±1.2 %"; without the interval for one run.
std::string speed_text(const std::vector<const RunFigures*>& runs, SpeedEstimator estimator);
/// " ±1.2 %": half the interval's width over its estimate; empty if unbounded.
std::string reach_text(const Interval& interval);

}  // namespace ptrain

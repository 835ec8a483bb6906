// The verdict on a change of step time, from few, skewed samples of a noisy machine. The unit is the run (a process):
// steps of one run share memory placement, neighbours and clock, so they count once.
#pragma once

#include "core/analysis/intervals.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

enum class Verdict { same, faster, slower, inconclusive };
/// "SAME", "FASTER", "SLOWER", "INCONCLUSIVE"
std::string_view to_string(Verdict verdict);

struct SpeedRule {
  double threshold_percent = 2;  // smaller changes are ignored
  double confidence = 0.95;      // of the change's two-sided interval
};

/// Logarithms of step times of one side's runs, or of the changes within pairs.
struct StepLogs {
  std::vector<double> typical;  // tenth percentile of a run's steps
  std::vector<double> mean;     // sensitive to stalls of some steps, and to noise
};

/// Change of the step time per sample in percent of the base's; above 0 is slower.
struct SpeedChange {
  Verdict verdict = Verdict::inconclusive;
  Interval percent;            // of the typical step
  Interval stalls;             // of the mean step, at 99 %
  bool paired = false;         // from interleaved pairs
  std::int64_t runs = 0;       // pairs, or runs of the smaller side
  std::int64_t more_runs = 0;  // further runs per side that would probably decide; 0 unless inconclusive
  std::string reason;          // one line where the figures need an explanation
};

/// Decides from the changes within interleaved pairs, by the signed-rank interval: SLOWER (FASTER) when the whole
/// interval lies above (below) zero and the estimate exceeds the threshold, SAME when the whole interval lies within
/// the threshold on both sides, else INCONCLUSIVE. So at most 5 % of comparisons of a program with itself are called a
/// change, whatever the noise, and far fewer where noise is below the threshold. Also SLOWER when the mean step is, at
/// 99 %. Never SAME or FASTER when the runs' total time is much longer (by 10 % more than the typical step), because a
/// few of them stall.
SpeedChange test_paired_change(const StepLogs& changes, const SpeedRule& rule);

/// What `runs` of each case are too few for, in one line; empty: for nothing. `compare` decides by 95 % intervals.
std::string describe_shortage(std::int64_t runs);

/// Decides for runs that were not interleaved, by the rank-sum interval, widened by the drift within each side: a
/// change of the machine cannot be distinguished from one of the program.
SpeedChange test_group_change(const StepLogs& base, const StepLogs& changed, const SpeedRule& rule);

}  // namespace ptrain

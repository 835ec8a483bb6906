// Compares two sets of runs by speed and accuracy: a verdict per case, and one overall.
#pragma once

#include "core/analysis/environment_diff.h"
#include "core/analysis/failures.h"
#include "core/analysis/intervals.h"
#include "core/analysis/run_set.h"
#include "core/analysis/speed.h"
#include "core/analysis/verdict.h"
#include "core/base/errors.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

enum class AccuracyVerdict { not_measured, not_worse, worse, inconclusive };
/// "not measured", "NOT WORSE", "WORSE", "INCONCLUSIVE"
std::string_view to_string(AccuracyVerdict verdict);

struct CompareRule {
  SpeedRule speed;
  double accuracy_margin =
      0.01;  // tolerated loss of the primary metric: 0.01 is one point, or 1 % of an unbounded metric
  std::set<DifferenceKind> allowed;  // kinds of difference that are accepted
};

struct AccuracyChange {
  AccuracyVerdict verdict = AccuracyVerdict::not_measured;
  std::optional<MetricInfo> metric;  // primary metric, base's if it has one; absent: not measured
  bool compared = false;             // both sides have the metric
  double base = 0, changed = 0;
  bool bounded = false;         // the interval is known
  double lower = 0, upper = 0;  // 95 % interval of changed - base
  std::string reason;

  void describe(Fields& field) {
    field.choice("verdict", verdict, AccuracyVerdict::inconclusive, "");
    std::string name = metric ? metric->name : std::string();
    field("metric", name, "primary metric of the task, which is compared; empty: none was measured");
    field.any_sign("base", base, "mean of the metric");
    field.any_sign("new", changed, "");
    field.any_sign("lower", lower, "lower end of the interval of new - base");
    field.any_sign("upper", upper, "");
    field("reason", reason, "");
  }
};

/// Change of the time until train.target was reached, for runs that reached it. Reported only; a verdict ignores it.
struct TargetChange {
  double base = 0, changed = 0;  // seconds, median of the runs that reached it
  Interval percent;              // changed relative to base; above 0 is later
  std::int64_t missed = 0;       // runs of either side that did not reach it
  bool later(double threshold) const { return percent.bounded && percent.lower > 0 && percent.estimate > threshold; }

  void describe(Fields& field) {
    field.any_sign("base", base, "seconds, median of the runs that reached train.target");
    field.any_sign("new", changed, "");
    field("percent", percent, "above 0: later");
    field("missed", missed, "runs of either side that did not reach it");
  }
};

/// A side's speed as the table shows it, and when its runs started.
struct SideFigures {
  double speed = 0;
  std::string unit;
  std::optional<double> lower, upper;
  std::int64_t runs = 0;
  MeasuredSpan started;

  void describe(Fields& field) {
    field("speed", speed, "by the comparison's estimator");
    field("unit", unit, "");
    field.any_sign("lower", lower, "lower end of the 95 % interval; null: one run only");
    field.any_sign("upper", upper, "");
    field("runs", runs, "number of good runs");
    field("started", started, "start of the first and of the last run");
  }
};

struct CaseComparison {
  std::string name;
  SpeedEstimator estimator = SpeedEstimator::typical_step;
  std::optional<SideFigures> base, changed;  // absent without a good run
  RunCounts base_runs, changed_runs;         // all of them, those that failed included
  SpeedChange speed;
  AccuracyChange accuracy;
  std::optional<TargetChange> target;    // absent unless both sides reach one
  std::optional<double> memory_percent;  // change of the mean peak; absent without figures
  std::vector<Difference> differences;   // between the first good run of each side
  bool refused = false;                  // for a difference that is not accepted: no verdict

  FailureVerdict failures() const { return test_failures(base_runs, changed_runs); }

  void describe(Fields& field) {
    field("case", name, "");
    field.choice("verdict", speed.verdict, Verdict::inconclusive, "");
    field.choice("speed_estimator", estimator, SpeedEstimator::samples_over_time, "how a run's speed is computed");
    field("base", base, "");
    field("new", changed, "");
    field("step_time_percent", speed.percent, "change of the time per sample by this estimator");
    field("mean_step_percent", speed.stalls, "");
    field("paired", speed.paired, "from interleaved pairs");
    field("runs", speed.runs, "pairs, or runs of the smaller side");
    field("more_runs", speed.more_runs, "further runs that would probably decide");
    field("reason", speed.reason, "");
    field.any_sign("memory_percent", memory_percent, "");
    field("accuracy", accuracy, "");
    field.maybe("time_to_accuracy", target, "absent unless both sides reach train.target");
    field("base_runs", base_runs, "how all runs of base ended");
    field("new_runs", changed_runs, "");
    field("refused", refused, "no verdict, because of a difference that is not allowed");
    field("differences", differences, "");
  }
};

struct Comparison {
  std::string base, changed;  // as named on the command line
  CompareRule rule;
  std::vector<CaseComparison> cases;
  std::vector<std::string> notes = {};  // about records that were left out

  /// regressed when any case is slower, less accurate or clearly fails more often, else inconclusive when any has no
  /// verdict or fails more often, else ok.
  ExitCode outcome() const;

  void describe(Fields& field) {
    std::int64_t exit_code = static_cast<int>(outcome());
    field.document("ptrain.comparison/2", "Whether a second set of runs is as fast and as accurate as a first.");
    field("base", base, "");
    field("new", changed, "");
    field.any_sign("threshold_percent", rule.speed.threshold_percent, "");
    field.any_sign("confidence", rule.speed.confidence, "");
    field.any_sign("accuracy_margin", rule.accuracy_margin, "");
    field("exit_code", exit_code, "0, 4 or 5");
    field("cases", cases, "");
    field("notes", notes, "about records that were left out");
  }
};

/// The primary metric is not worse when the interval of its gain lies above -margin; it is worse when the interval lies
/// below 0 and the estimate exceeds the margin (relative for unbounded metrics). The interval is Student's t over runs,
/// plus the metric's own error (binomial for a fraction of samples). Where all runs of both sides have the same
/// fraction, none of N evaluation samples is known to have changed, and up to 1 - 0.025^(1/N) may have: the bound of
/// Clopper and Pearson for 0 of N (Biometrika 26, 1934). With one run per side and a metric without an error, the
/// margin alone decides. Sides with different primary metrics, or without one that the base has, are inconclusive.
AccuracyChange test_accuracy_change(const std::vector<const MeasuredRun*>& base,
                                    const std::vector<const MeasuredRun*>& changed, double margin);

/// Uses centre_interval of the changes within interleaved pairs if there are any, else rank_sum_interval.
std::optional<TargetChange> target_change(const std::vector<const MeasuredRun*>& base,
                                          const std::vector<const MeasuredRun*>& changed, double confidence);

/// Compares two cases, whatever their names. Runs that both sides share are left out of `changed`; without others there
/// is no verdict.
CaseComparison compare_cases(const MeasuredCase& base, const MeasuredCase& changed, const CompareRule& rule);

/// Compares the cases that both have, by name; two sets of one case each are compared whatever their names. A case that
/// only the base has is inconclusive. Throws Error{inconclusive} when they have no case in common.
Comparison compare(const RunSet& base, const RunSet& changed, const CompareRule& rule);

/// For a terminal, and as markdown for a pull request: verdict first, then a line for each metric.
std::string comparison_text(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);

}  // namespace ptrain

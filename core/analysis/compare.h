// Whether a second set of runs is as fast and as accurate as a first: a verdict per case, and one for all.
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
      0.01;  // loss of the primary metric that does not matter: 0.01 is one point, or 1 % of an amount
  std::set<DifferenceKind> allowed;  // kinds of difference that may be
};

struct AccuracyChange {
  AccuracyVerdict verdict = AccuracyVerdict::not_measured;
  std::optional<MetricInfo> metric;  // the primary one, of the base if it was measured there; absent: nowhere
  bool compared = false;             // both sides have the metric
  double base = 0, changed = 0;
  bool bounded = false;         // the interval is known
  double lower = 0, upper = 0;  // 95 % interval of changed - base
  std::string reason;

  void describe(Fields& field) {
    field.choice("verdict", verdict, AccuracyVerdict::inconclusive, "");
    std::string name = metric ? metric->name : std::string();
    field("metric", name, "that is judged, the task's primary one; empty: none was measured");
    field.any_sign("base", base, "mean of the metric");
    field.any_sign("new", changed, "");
    field.any_sign("lower", lower, "of the interval of new - base");
    field.any_sign("upper", upper, "");
    field("reason", reason, "");
  }
};

/// Change of the time until train.target was reached, of runs that have one; it does not judge, but to call a case
/// slower.
struct TargetChange {
  double base = 0, changed = 0;  // seconds, median of the runs that reached it
  Interval percent;              // of changed over base; above 0 is later
  std::int64_t missed = 0;       // runs of either side that ended without it
  bool later(double threshold) const { return percent.bounded && percent.lower > 0 && percent.estimate > threshold; }

  void describe(Fields& field) {
    field.any_sign("base", base, "seconds, median of the runs that reached train.target");
    field.any_sign("new", changed, "");
    field("percent", percent, "above 0: later");
    field("missed", missed, "runs of either side that ended without it");
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
    field.any_sign("lower", lower, "of the 95 % interval; null: of one run");
    field.any_sign("upper", upper, "");
    field("runs", runs, "good ones");
    field("started", started, "when the first and the last of them did");
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
  std::vector<Difference> differences;   // of the first good runs
  bool refused = false;                  // no verdict

  FailureVerdict failures() const { return test_failures(base_runs, changed_runs); }

  void describe(Fields& field) {
    field("case", name, "");
    field.choice("verdict", speed.verdict, Verdict::inconclusive, "");
    field.choice("speed_estimator", estimator, SpeedEstimator::samples_over_time, "what stands for a run's speed");
    field("base", base, "");
    field("new", changed, "");
    field("step_time_percent", speed.percent, "change of the time per sample by this estimator");
    field("mean_step_percent", speed.stalls, "");
    field("paired", speed.paired, "from interleaved pairs");
    field("runs", speed.runs, "pairs, or runs of the smaller side");
    field("more_runs", speed.more_runs, "that would probably decide");
    field("reason", speed.reason, "");
    field.any_sign("memory_percent", memory_percent, "");
    field("accuracy", accuracy, "");
    field.maybe("time_to_accuracy", target, "where both sides reach train.target");
    field("base_runs", base_runs, "how all runs of base ended");
    field("new_runs", changed_runs, "");
    field("refused", refused, "for a difference that was not allowed");
    field("differences", differences, "");
  }
};

struct Comparison {
  std::string base, changed;  // as they were named
  CompareRule rule;
  std::vector<CaseComparison> cases;
  std::vector<std::string> notes = {};  // on records that were left out

  /// regressed when any case is slower, less accurate or clearly fails more often, else inconclusive when any is
  /// without a verdict or fails more often, else ok.
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
    field("notes", notes, "on records that were left out");
  }
};

/// The primary metric is not worse when the interval of its gain lies above -margin, worse when it lies below 0 and the
/// estimate past the margin, which is relative of an amount. The interval is Student's over runs with the metric's own
/// error added, the binomial one of a part of the samples. Where every run of both sides has the same such part, none
/// of N evaluation samples is known to have changed sides, of which up to 1 - 0.025^(1/N) may: Clopper and Pearson's
/// bound for none of N (Biometrika 26, 1934). Of one run a side and a metric without an error, the margin alone decides
/// what is worse. Sides that are judged by different metrics, or lack one that the base has, are inconclusive.
AccuracyChange test_accuracy_change(const std::vector<const MeasuredRun*>& base,
                                    const std::vector<const MeasuredRun*>& changed, double margin);

/// Of interleaved pairs where there are any: centre_interval of their changes; else rank_sum_interval.
std::optional<TargetChange> target_change(const std::vector<const MeasuredRun*>& base,
                                          const std::vector<const MeasuredRun*>& changed, double confidence);

/// One case against another, whatever their names. Runs that both have are left out of `changed`; when it has no other,
/// there is no verdict.
CaseComparison compare_cases(const MeasuredCase& base, const MeasuredCase& changed, const CompareRule& rule);

/// Compares the cases that both have, by name; two sets of one case each are compared whatever their names. A case that
/// only the base has is inconclusive. Throws Error{inconclusive} when they have none in common.
Comparison compare(const RunSet& base, const RunSet& changed, const CompareRule& rule);

/// For a terminal, and for a pull request: verdict first, then a line for each metric.
std::string comparison_text(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);

}  // namespace ptrain

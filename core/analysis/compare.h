// Compares two sets of runs by speed and accuracy: a verdict per case, and one overall.
#pragma once

#include "core/analysis/environment_diff.h"
#include "core/analysis/failures.h"
#include "core/analysis/intervals.h"
#include "core/analysis/run_set.h"
#include "core/analysis/speed.h"
#include "core/analysis/verdict.h"
#include "core/base/errors.h"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

enum class AccuracyVerdict { not_measured, not_worse, worse, inconclusive };
/// "not measured", "NOT WORSE", "WORSE", "INCONCLUSIVE"
std::string_view to_string(AccuracyVerdict verdict);

/// The verdict on a case, or on a whole comparison, most severe first: the first that holds.
enum class GateVerdict { slower, less_accurate, fails_more, inconclusive, faster, same };
constexpr std::size_t gate_verdicts = 6;
/// "SLOWER", "LESS ACCURATE", "MORE FAILURES", "INCONCLUSIVE", "FASTER", "SAME"
std::string_view to_string(GateVerdict verdict);

/// What keeps a case from a verdict.
enum class OpenCause {
  none,
  not_comparable,
  no_good_run,
  same_runs,
  too_few_repeats,
  more_failures,
  wide_interval,
  accuracy_undecided
};
/// "too few repeats"; empty for none.
std::string_view to_string(OpenCause cause);

struct CompareRule {
  SpeedRule speed;
  double accuracy_margin =
      0.01;  // tolerated loss of the primary metric: 0.01 is one point, or 1 % of an unbounded metric
  std::set<DifferenceKind> allowed;  // kinds of difference that are accepted

  /// Whether a difference of this kind leaves a verdict.
  bool allows(DifferenceKind kind) const { return kind == DifferenceKind::note || allowed.contains(kind); }
};

struct AccuracyChange {
  AccuracyVerdict verdict = AccuracyVerdict::not_measured;
  std::optional<MetricInfo> metric;  // primary metric, base's if it has one; absent: not measured
  bool compared = false;             // both sides have the metric
  double base = 0, changed = 0;
  double base_stdev = 0, changed_stdev = 0;  // between the runs of a side
  bool bounded = false;                      // the interval is known
  double lower = 0, upper = 0;               // 95 % interval of changed - base
  std::string reason;

  void describe(Fields& field) {
    field.choice("verdict", verdict, AccuracyVerdict::inconclusive, "");
    std::string name = metric ? metric->name : std::string();
    field("metric", name, "primary metric of the task, which is compared; empty: none was measured");
    field.any_sign("base", base, "mean of the metric");
    field.any_sign("new", changed, "");
    field("base_stdev", base_stdev, "standard deviation between the runs; 0: one run, or equal ones");
    field("new_stdev", changed_stdev, "");
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
  /// Speed, accuracy and failures together.
  GateVerdict verdict(const CompareRule& rule) const;
  /// none: it has a verdict on speed, accuracy and failures.
  OpenCause open_cause() const;

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

  /// The most severe verdict of a case.
  GateVerdict verdict() const;
  /// Number of cases with each verdict, by GateVerdict.
  std::array<std::int64_t, gate_verdicts> count_verdicts() const;
  /// "8 of 8 inconclusive: too few repeats", "1 of 8 slower, 7 same".
  std::string summary() const;
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
    GateVerdict overall = verdict();
    std::string counts = summary();
    field.choice("verdict", overall, GateVerdict::same, "the most severe of a case");
    field("summary", counts, "number of cases by verdict, and what keeps them from one");
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

/// "SLOWER at a threshold of 2 %; 1 of 8 slower, 7 same"
std::string comparison_headline(const Comparison& comparison);

/// The table of a comparison: a row for each case.
struct ComparisonTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};
ComparisonTable comparison_table(const Comparison& comparison);
/// Reasons, failures and notes, a line each; what holds for several cases is said once.
std::vector<std::string> comparison_remarks(const Comparison& comparison);
/// Each difference of the environments and configurations once, without hashes; both values are empty where only a hash
/// differs.
std::vector<Difference> comparison_differences(const Comparison& comparison);

/// For a terminal, and as markdown for a pull request: the verdict first, then the table, then the remarks.
std::string comparison_text(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);

}  // namespace ptrain

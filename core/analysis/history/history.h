// History of a suite's speed, memory and accuracy over its saved baselines, and where they changed.
#pragma once

#include "core/analysis/effects/effects.h"
#include "core/analysis/history/baseline_record.h"
#include "core/analysis/history/failure_changes.h"
#include "core/analysis/intervals.h"
#include "core/base/errors.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

struct HistoryRule {
  double threshold_percent = 2;  // smaller changes of speed and memory are ignored
  double accuracy_points = 1;    // likewise for the primary metric: points, or percent if unbounded
  double significance = 0.02;    // chance of a false change point per history
  std::string since;             // label from which on changes count as regressions; empty: all
};

/// One baseline's value in a series.
struct HistoryPoint {
  std::string label;
  std::string measured;  // when the sweep's first run started, UTC
  std::string commit;
  double value = 0;
  std::optional<double> lower, upper;
  std::int64_t runs = 0;

  void describe(Fields& field) {
    field("label", label, "");
    field("measured", measured, "when the first run of the sweep started, UTC");
    field("commit", commit, "");
    field("value", value, "");
    field.any_sign("lower", lower, "lower end of the 95 % interval; null: too few runs, or accuracy");
    field.any_sign("upper", upper, "");
    field("runs", runs, "number of good runs");
  }
};

/// A change between one baseline of a series and the next.
struct HistoryChange {
  std::int64_t at = 0;  // the first point of the new level
  std::string before, after;
  Interval size;
  double p = 1;
  bool regression = false;
  bool counts = true;  // not before HistoryRule::since
  std::string differences;

  void describe(Fields& field) {
    field("at", at, "index of the first point of the new level, from 0");
    field("before", before, "label of the last point of the level before");
    field("after", after, "label of the first point of the new level");
    field("size", size, "difference of the two levels: percent, or points for a metric of at most 1");
    field("p", p, "fraction of random orders of the points that split as clearly");
    field("regression", regression, "slower, more memory or less accurate");
    field("counts", counts, "false: before --since");
    field("differences", differences, "changes of commit, program, driver and libraries; empty: none");
  }
};

/// One figure of one case on one machine under one configuration.
struct HistorySeries {
  std::string suite, machine, case_name;
  Response response = Response::throughput;
  std::optional<MetricInfo> metric;  // for accuracy
  std::string unit;
  std::vector<HistoryPoint> points;
  bool varies = false;            // false: all points are equal
  std::int64_t fewest = 0;        // points needed to detect a change
  std::int64_t fewest_after = 0;  // of these, points at the new level, at this length
  std::vector<HistoryChange> changes;

  bool decided() const { return static_cast<std::int64_t>(points.size()) >= fewest; }
  /// The newest change if it is a regression that counts, else null.
  const HistoryChange* regression() const;
  /// "throughput", "mean throughput", "perplexity": the metric's title unless it is a fraction of correct samples.
  std::string figure() const;
  /// Whether changes are in points rather than percent.
  bool in_points() const { return metric && metric->is_bounded(); }

  void describe(Fields& field) {
    field("suite", suite, "");
    field("machine", machine, "");
    field("case", case_name, "");
    field.choice("response", response, Response::mean_throughput,
                 "mean_throughput: samples of all runs over their time, which stalls of some steps lengthen");
    std::string metric_name = metric ? metric->name : std::string();
    field("metric", metric_name, "primary metric, for accuracy; else empty");
    field("unit", unit, "");
    field("points", points, "in the order of measurement");
    field("varies", varies, "false: all points are equal");
    field("fewest", fewest, "points needed to detect a change");
    field("fewest_after", fewest_after,
          "points at the new level needed to detect a change in a history of this length");
    field("changes", changes, "");
  }
};

/// From the baseline labelled `since` on, fewer of a case's good runs have their accuracy than before.
struct LostAccuracy {
  std::string suite, machine, case_name;
  std::string since;
  std::int64_t before = 0, runs_before = 0;  // runs with an accuracy, and all, at the last baseline that had them
  std::int64_t after = 0, runs_after = 0;    // of `since` and later baselines

  void describe(Fields& field) {
    field("suite", suite, "");
    field("machine", machine, "");
    field("case", case_name, "");
    field("since", since, "label of the first baseline at which fewer runs have their accuracy");
    field("before", before, "runs with an accuracy at the baseline before it");
    field("runs_before", runs_before, "good runs of that baseline");
    field("after", after, "runs with an accuracy at it and later baselines");
    field("runs_after", runs_after, "good runs of these");
  }
};

struct History {
  std::string folder;
  HistoryRule rule;
  std::vector<HistorySeries> series;         // by suite and machine, then case
  std::vector<FailureChange> failures = {};  // cases that fail more often than before, from HistoryRule::since on
  std::vector<LostAccuracy> lost = {};       // likewise
  std::vector<std::string> notes = {};

  /// regressed when the newest change of any series is a regression, a case fails more often or lost its accuracy, else
  /// inconclusive when no series has enough points, else ok.
  ExitCode outcome() const;

  void describe(Fields& field) {
    field.document("ptrain.history/3", "History of a suite over its baselines, and where its figures changed.");
    field("folder", folder, "");
    field("threshold_percent", rule.threshold_percent, "smaller changes of speed and memory are left out");
    field("accuracy_points", rule.accuracy_points,
          "smaller changes of the primary metric are left out: points, or percent if unbounded");
    field("significance", rule.significance, "chance of a false change point per history");
    field("since", rule.since, "label; empty: none");
    field("series", series, "");
    field("failures", failures, "cases with clearly more failed runs than before");
    field("lost_accuracy", lost, "cases of which fewer good runs have an accuracy than before");
    field("notes", notes, "what is missing, and why");
  }
};

/// A point of a series is what tables show for that sweep: the centre of the case's runs (the mean, for accuracy).
/// Mean throughput is that of all steps of all runs, so that stalls of some are a change as they are to compare().
/// find_change_points() runs on logarithms (on the value itself for a metric of at most 1); `significance` is shared
/// among the series that vary. Changes below the threshold are merged with their neighbours, smallest first. The size
/// of a change is the 95 % rank-sum interval between the levels on both sides. A series covers one machine and one
/// configuration; a changed configuration starts a new series. Throws Error{usage} where no baseline has the label
/// `rule.since`.
History find_history(const std::string& folder, std::span<const SavedSweep> sweeps, const HistoryRule& rule);

/// For a terminal, and for a pull request: first and latest value of each case and figure, and where they changed.
std::string history_text(const History& history);
std::string history_markdown(const History& history);

/// Groups consecutive series of one suite on one machine.
std::vector<std::span<const HistorySeries>> group_series(const History& history);
/// "ci_smoke on intel-xeon-2-cores: 12 points, a (2025-01-30) to b (2025-03-01)"
std::string group_title(std::span<const HistorySeries> group);
/// Notes the figures do not show: series too short, what was left out, how certain the result is.
std::vector<std::string> remarks(const History& history);
struct HistoryTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};
/// A row for each series of a group: its first and latest value, the latest against the first and against the one
/// before, and where it changed.
HistoryTable history_table(std::span<const HistorySeries> group);
/// Every change of a group: regressions first, the newest of a series first.
std::vector<std::string> list_changes(std::span<const HistorySeries> group);
/// How `to` differs from `from`: "-4.4 %", or "-0.5 points" for a metric of at most 1.
std::string difference_text(const HistorySeries& series, const HistoryPoint& from, const HistoryPoint& to);
/// "-5.1 % (-6.0 to -4.2)"
std::string size_text(const HistorySeries& series, const HistoryChange& change);
/// "REGRESSION: level=O0: throughput -5.1 % (-6.0 to -4.2) between a (2025-01-30) and b (2025-01-31): commit ...".
std::string change_text(const HistorySeries& series, const HistoryChange& change);
/// "812.3 images/s"
std::string value_text(const HistorySeries& series, const HistoryPoint& point);

}  // namespace ptrain

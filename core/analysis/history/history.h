// What a suite's speed, memory and accuracy were over its saved baselines, and where they changed.
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
  double threshold_percent = 2;  // changes of speed and memory below it do not matter
  double accuracy_points = 1;    // of the primary metric in points, or percent of an amount, the same
  double significance = 0.02;    // chance of any change point in a history without a change
  std::string since;             // label: only changes from it on are held to be regressions; empty: all
};

/// A series at one baseline.
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
    field.any_sign("lower", lower, "of the 95 % interval; null: too few runs, or an accuracy");
    field.any_sign("upper", upper, "");
    field("runs", runs, "good ones");
  }
};

/// From one baseline of a series to its next.
struct HistoryChange {
  std::int64_t at = 0;  // the first point of the new level
  std::string before, after;
  Interval size;
  double p = 1;
  bool regression = false;
  bool counts = true;  // not before HistoryRule::since
  std::string differences;

  void describe(Fields& field) {
    field("at", at, "of the first point of the new level, from 0");
    field("before", before, "label of the last point of the level before");
    field("after", after, "label of the first point of the new level");
    field("size", size, "between the levels to both sides: percent; of a metric of at most 1 points");
    field("p", p, "share of random orders of the points that part as clearly");
    field("regression", regression, "slower, more memory or less accurate");
    field("counts", counts, "it is not before --since");
    field("differences", differences, "commit, program, driver and libraries between the two; empty: none");
  }
};

/// One figure of one case on one machine under one configuration.
struct HistorySeries {
  std::string suite, machine, case_name;
  Response response = Response::throughput;
  std::optional<MetricInfo> metric;  // of an accuracy
  std::string unit;
  std::vector<HistoryPoint> points;
  bool varies = false;            // false: all points are equal
  std::int64_t fewest = 0;        // points that a change needs to show
  std::int64_t fewest_after = 0;  // of them of the new level, at this length
  std::vector<HistoryChange> changes;

  bool decided() const { return static_cast<std::int64_t>(points.size()) >= fewest; }
  /// The newest change, where it is for the worse and counts; null otherwise.
  const HistoryChange* regression() const;
  /// "throughput", "accuracy", "perplexity": the metric's title but of a part of the samples that are right.
  std::string figure() const;
  /// Whether changes count in points of 1, not in percent of what it was.
  bool in_points() const { return metric && metric->is_bounded(); }

  void describe(Fields& field) {
    field("suite", suite, "");
    field("machine", machine, "");
    field("case", case_name, "");
    field.choice("response", response, Response::time_to_accuracy, "");
    std::string metric_name = metric ? metric->name : std::string();
    field("metric", metric_name, "the primary one, of an accuracy; else empty");
    field("unit", unit, "");
    field("points", points, "in the order in which they were measured");
    field("varies", varies, "false: all points are equal");
    field("fewest", fewest, "points that a change needs to show");
    field("fewest_after", fewest_after, "of the new level, for a change to show in a history of this length");
    field("changes", changes, "");
  }
};

struct History {
  std::string folder;
  HistoryRule rule;
  std::vector<HistorySeries> series;         // by suite and machine, then case
  std::vector<FailureChange> failures = {};  // of cases that fail more often than before, not before HistoryRule::since
  std::vector<std::string> notes = {};

  /// regressed when the newest change of any series is a regression or a case fails more often, else inconclusive when
  /// no series has points enough, else ok.
  ExitCode outcome() const;

  void describe(Fields& field) {
    field.document("ptrain.history/2", "A suite over its baselines, and where its figures changed.");
    field("folder", folder, "");
    field("threshold_percent", rule.threshold_percent, "changes of speed and memory below it are left out");
    field("accuracy_points", rule.accuracy_points,
          "changes of the primary metric below it are left out: points, or percent of an amount");
    field("significance", rule.significance, "chance of any change point in a history without a change");
    field("since", rule.since, "label; empty: none");
    field("series", series, "");
    field("failures", failures, "cases of which clearly more runs fail than before");
    field("notes", notes, "what is missing, and why");
  }
};

/// A series' point is what tables show of that sweep: the centre of the case's runs (their mean, of accuracy). Change
/// points are find_change_points()'s of logarithms (of a metric of at most 1 itself); `significance` is shared out over
/// the series that vary. Changes below the threshold are joined to their neighbours, the smallest first. A change's
/// size is the rank-sum interval at 95 % between the points of the levels to both its sides. Series are of one machine
/// each, and of one configuration: where a case's changed, another series begins. Throws Error{usage} where no baseline
/// has the label `rule.since`.
History find_history(const std::string& folder, std::span<const SavedSweep> sweeps, const HistoryRule& rule);

/// For a terminal, and for a pull request: first and latest value of each case and figure, and where they changed.
std::string history_text(const History& history);
std::string history_markdown(const History& history);

/// The series of one suite on one machine, in a row.
std::vector<std::span<const HistorySeries>> group_series(const History& history);
/// "ci_smoke on intel-xeon-2-cores: 12 points, a (2025-01-30) to b (2025-03-01)"
std::string group_title(std::span<const HistorySeries> group);
/// What the figures alone do not say: what is too short, what was left out, how sure it is.
std::vector<std::string> remarks(const History& history);
/// "-5.1 % (-6.0 to -4.2)"
std::string size_text(const HistorySeries& series, const HistoryChange& change);
/// "REGRESSION: level=O0: throughput -5.1 % (-6.0 to -4.2) between a (2025-01-30) and b (2025-01-31): commit ...".
std::string change_text(const HistorySeries& series, const HistoryChange& change);
/// "812.3 images/s"
std::string value_text(const HistorySeries& series, const HistoryPoint& point);

}  // namespace ptrain

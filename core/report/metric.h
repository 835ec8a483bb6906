// Metrics as values: name, unit and direction of what is measured for a task. Reports, comparisons and pages use these
// and know no task.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Kind of a metric's value, which determines its error and how changes are shown. `fraction`: fraction of correct
/// samples, with the binomial distribution's error. `score`: another figure of at most 1. `amount`: unbounded; its
/// changes are relative. `reference`: a baseline for other metrics, not a quality of the model.
enum class MetricKind { fraction, score, amount, reference };
/// "fraction", "score", "amount", "reference"
std::string_view to_string(MetricKind kind);

/// How many metrics are shown while a model trains.
enum class MetricView { brief, full };

struct MetricInfo {
  std::string name;   // in keys and documents
  std::string title;  // for display
  std::string unit;
  MetricKind kind = MetricKind::score;
  bool higher_is_better = true;
  std::string help;
  MetricView view = MetricView::full;  // smallest view that includes it

  /// Whether its changes are in points rather than percent.
  bool is_bounded() const { return kind != MetricKind::amount; }
  /// Whether `value` is better than `other`; NaN never is.
  bool is_better(double value, double other) const { return higher_is_better ? value > other : value < other; }
  /// The title with a capital, for a table's column.
  std::string column() const;
  /// Digits after the point for a value of this size.
  int digits(double value) const;
  /// "0.9812"; an amount of 10 or more has two digits after the point. "-" where `value` is absent.
  std::string value_text(std::optional<double> value) const;
};

/// A metric's value: absent where it is undefined, such as a correlation with constant values.
struct MetricValue : MetricInfo {
  std::optional<double> value;
  std::optional<double> standard_error;  // where the metric has one

  /// "top-1 0.7650"
  std::string text() const { return title + " " + value_text(value); }
  /// Declares its fields, except its name.
  void describe(Fields& field);
};

/// The metrics of one evaluation.
struct Evaluation {
  std::vector<MetricValue> metrics;  // the first is the primary one, which gates test
  std::int64_t eval_samples = 0;
  std::optional<std::string> signature = {};  // settings of the metrics
  std::string primary_pointer;                // place of the primary metric in the source document; empty: as written

  /// Null without metrics.
  const MetricValue* primary() const { return metrics.empty() ? nullptr : &metrics.front(); }
  /// Null without a metric of that name.
  const MetricValue* find(std::string_view name) const;
  /// The primary metric's value, where it has one.
  std::optional<double> primary_value() const;
  /// JSON pointer to the primary metric's value, relative to the evaluation.
  std::string pointer_to_primary() const;
  /// "top-1 0.7650 (majority class 0.1000)": the primary metric and its reference.
  std::string text() const;
  /// ", top-5 0.9810": the others of this view, without references.
  std::string text_of_others(MetricView view) const;

  /// Declares the primary metric's name, all names in order, and the metrics by name.
  void describe(Fields& field);
};

/// The names of `metrics`, in order, without references, which cannot be selected.
std::vector<std::string> metric_names(const std::vector<MetricInfo>& metrics);

}  // namespace ptrain

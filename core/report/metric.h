// Metrics as values: what is measured of a task's answers, in which unit, and which way is better. Reports, comparisons
// and pages read them by name and direction and know no task.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// What a metric's value is, from which follows its error and how a change of it is told. `fraction`: the part of the
/// evaluation samples that are right, with the binomial distribution's error. `score`: another figure of at most 1.
/// `amount`: without an upper bound; its changes are relative. `reference`: what a metric is to be held against, and
/// nothing that a model is good at.
enum class MetricKind { fraction, score, amount, reference };
/// "fraction", "score", "amount", "reference"
std::string_view to_string(MetricKind kind);

/// How much of a metric is shown while a model trains.
enum class MetricView { brief, full };

struct MetricInfo {
  std::string name;   // as keys and documents spell it
  std::string title;  // as people read it
  std::string unit;
  MetricKind kind = MetricKind::score;
  bool higher_is_better = true;
  std::string help;
  MetricView view = MetricView::full;  // the least view that has it

  /// Whether its changes count in points of 1, not in percent of what it was.
  bool is_bounded() const { return kind != MetricKind::amount; }
  /// Whether `value` is better than `other`; one that is not a number never is.
  bool is_better(double value, double other) const { return higher_is_better ? value > other : value < other; }
  /// The title with a capital, as a table's column has it.
  std::string column() const;
  /// Digits after the point that a value of this size is shown with.
  int digits(double value) const;
  /// "0.9812"; an amount of 10 or more has two digits after the point. "-" where `value` is absent.
  std::string value_text(std::optional<double> value) const;
};

/// What a metric came to: absent where it is not defined, such as a correlation with values that are all the same.
struct MetricValue : MetricInfo {
  std::optional<double> value;
  std::optional<double> standard_error;  // where the metric has one

  /// "top-1 0.7650"
  std::string text() const { return title + " " + value_text(value); }
  /// Declares what documents hold of it, beside its name.
  void describe(Fields& field);
};

/// The metrics of one evaluation.
struct Evaluation {
  std::vector<MetricValue> metrics;  // the first is the primary one, which gates judge
  std::int64_t eval_samples = 0;
  std::string primary_pointer;  // where the document that it was read from holds the primary one; empty: as written

  /// Null without metrics.
  const MetricValue* primary() const { return metrics.empty() ? nullptr : &metrics.front(); }
  /// Null where there is none of that name.
  const MetricValue* find(std::string_view name) const;
  /// The primary metric's value, where it has one.
  std::optional<double> primary_value() const;
  /// JSON pointer to the primary metric's value, from the evaluation's place in the document.
  std::string pointer_to_primary() const;
  /// "top-1 0.7650 (majority class 0.1000)": the primary metric, and what it is to be held against.
  std::string text() const;
  /// ", top-5 0.9810": the others of this view, but what they are held against.
  std::string text_of_others(MetricView view) const;

  /// Declares the primary metric's name, all names in order, and the metrics by name.
  void describe(Fields& field);
};

/// The names of `metrics`, in order, references left out: nothing is chosen by those.
std::vector<std::string> metric_names(const std::vector<MetricInfo>& metrics);

}  // namespace ptrain

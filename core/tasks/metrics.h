// What measures a model's answers: an object that is given rows and tells metrics. Each task has one of its own.
#pragma once

#include "core/report/evaluation_figures.h"
#include "core/report/metric.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ptrain {

/// One batch of an evaluation, without the rows that fill it up.
struct EvaluatedRows {
  std::int64_t count = 0;
  double loss = 0;                         // mean of the rows
  std::span<const float> outputs;          // [count, outputs of a row]; empty where the metrics read none
  std::span<const std::int32_t> labels{};  // [count] of classes
  std::span<const float> values{};         // [count] of true values
};

class Metrics {
 public:
  Metrics() = default;
  Metrics(const Metrics&) = default;
  Metrics(Metrics&&) = default;
  Metrics& operator=(const Metrics&) = default;
  Metrics& operator=(Metrics&&) = default;
  virtual ~Metrics() = default;

  /// Whether add_rows reads outputs; else the loss is all that it needs.
  virtual bool reads_outputs() const { return true; }
  /// Adds a batch to what was counted.
  virtual void add_rows(const EvaluatedRows& rows) = 0;

  /// Everything counted, as numbers that merge() of another rank's object adds to its own.
  virtual std::vector<double> state() const = 0;
  virtual void merge(std::span<const double> state) = 0;

  virtual std::int64_t samples() const = 0;
  virtual double mean_loss() const = 0;
  /// Every metric of the task, the primary one first; values are absent where they are not defined.
  virtual std::vector<MetricValue> values() const = 0;
  /// Class by class, where there are classes.
  virtual std::optional<ClassificationReport> details() const { return std::nullopt; }

  /// What was counted, as reports tell it.
  Evaluation evaluation() const {
    Evaluation evaluation;
    evaluation.metrics = values();
    evaluation.eval_samples = samples();
    return evaluation;
  }
};

/// A value of `info`, with its standard error where it has one.
inline MetricValue measured(const MetricInfo& info, std::optional<double> value,
                            std::optional<double> standard_error = std::nullopt) {
  MetricValue made;
  static_cast<MetricInfo&>(made) = info;
  made.value = value;
  if (value) made.standard_error = standard_error;
  return made;
}

/// The mean loss of the evaluated samples, a metric of every task.
inline const MetricInfo& loss_info() {
  static const MetricInfo info{"loss", "loss", "", MetricKind::amount, false, "mean evaluation loss"};
  return info;
}

}  // namespace ptrain

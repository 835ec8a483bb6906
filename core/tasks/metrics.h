// What measures a model's answers: an object that is given rows and tells metrics. Each task has one of its own.
#pragma once

#include "core/data/batch.h"
#include "core/report/evaluation_figures.h"
#include "core/report/metric.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ptrain {

class Metrics {
 public:
  Metrics() = default;
  Metrics(const Metrics&) = default;
  Metrics(Metrics&&) = default;
  Metrics& operator=(const Metrics&) = default;
  Metrics& operator=(Metrics&&) = default;
  virtual ~Metrics() = default;

  /// Whether add_batch reads outputs; else the loss is all that it needs.
  virtual bool reads_outputs() const { return true; }
  /// Adds the samples of a batch whose targets it holds, by their mean loss (none: not known) and the task's scores().
  virtual void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) = 0;

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

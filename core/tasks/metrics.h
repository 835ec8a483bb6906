// The interface of metrics: accumulates batches of predictions and returns values. Each task has its own.
#pragma once

#include "core/data/batch.h"
#include "core/report/evaluation_figures.h"
#include "core/report/metric.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

  /// Whether add_batch reads outputs; else it needs only the loss.
  virtual bool reads_outputs() const { return true; }
  /// Adds the samples of a batch that have targets, with their mean loss (none: unknown) and the task's scores().
  virtual void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) = 0;
  /// Adds a text that the model generated, for tasks whose texts have a reference.
  virtual void add_text(const std::string& /*generated*/, const std::string& /*reference*/) {}

  /// All counts as numbers, which merge() adds to another rank's object.
  virtual std::vector<double> state() const = 0;
  virtual void merge(std::span<const double> state) = 0;
  /// What grows with the samples, in parts of bounded size, which merge_part() adds likewise.
  virtual std::size_t parts() const { return 0; }
  virtual std::vector<double> part(std::size_t /*index*/) const { return {}; }
  virtual void merge_part(std::span<const double> /*part*/) {}

  virtual std::int64_t samples() const = 0;
  virtual double mean_loss() const = 0;
  /// Every metric of the task, the primary one first; undefined values are absent.
  virtual std::vector<MetricValue> values() const = 0;
  /// Per-class results, for tasks with classes.
  virtual std::optional<ClassificationReport> details() const { return std::nullopt; }
  /// The settings that values depend on, on one line, where other programs have others; empty: none.
  virtual std::string signature() const { return {}; }

  /// The results in the form of reports.
  Evaluation evaluation() const {
    Evaluation evaluation;
    evaluation.metrics = values();
    evaluation.eval_samples = samples();
    if (std::string settings = signature(); !settings.empty()) evaluation.signature = std::move(settings);
    return evaluation;
  }
};

/// Metrics that count samples and average the losses of batches.
class CountedMetrics : public Metrics {
 public:
  /// Adds a batch's mean loss, weighted by its samples or targets; none: unknown.
  void add_loss(std::optional<double> loss, std::int64_t weight) {
    if (!loss) return;
    loss_sum_ += *loss * static_cast<double>(weight);
    loss_weight_ += weight;
  }

  std::vector<double> state() const override {
    return {static_cast<double>(samples_), loss_sum_, static_cast<double>(loss_weight_)};
  }
  void merge(std::span<const double> state) override {
    samples_ += std::llround(state[0]);
    loss_sum_ += state[1];
    loss_weight_ += std::llround(state[2]);
  }
  std::int64_t samples() const override { return samples_; }
  double mean_loss() const override { return loss_weight_ == 0 ? 0.0 : loss_sum_ / static_cast<double>(loss_weight_); }

 protected:
  static constexpr std::size_t state_size = 3;  // derived classes append theirs

  void add_samples(std::int64_t samples) { samples_ += samples; }
  /// None where no batch had a loss.
  std::optional<double> known_loss() const {
    return samples_ > 0 && loss_weight_ > 0 ? std::optional(mean_loss()) : std::nullopt;
  }

 private:
  std::int64_t samples_ = 0, loss_weight_ = 0;
  double loss_sum_ = 0;
};

/// A value of `info`, with its standard error if known.
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

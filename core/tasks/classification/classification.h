// Classification: one class per sample.
#pragma once

#include "core/data/tensor_names.h"
#include "core/tasks/classification/classification_metrics.h"
#include "core/tasks/task.h"

namespace ptrain {

class Classification : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "classification"; }
  std::vector<std::string> targets() const override { return {tensor_names::labels}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// Softmax cross entropy of logits [N, classes] against labels [N].
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  /// Adds probabilities [N, classes] to the logits.
  Batch answers(Batch scores) const override;
  std::vector<std::string> columns(const PredictionOptions& form) const override;
  /// The most likely class, the first of equal ones; its label is find_label()'s. The error of a wrong one is its
  /// probability.
  std::vector<Prediction> predictions(const Batch& batch, const Batch& scores,
                                      const PredictionOptions& form) const override;

 protected:
  /// The classes' probabilities, from one row of logits: their softmax.
  virtual std::vector<float> to_probabilities(std::span<const float> logits) const;
  /// The class of a batch's row, if it is known; `probabilities` are of its classes.
  virtual std::optional<std::int32_t> find_label(const Batch& batch, std::int64_t row,
                                                 std::span<const float> probabilities) const;
  /// The primary metric.
  virtual ClassMetricsOrder order() const { return ClassMetricsOrder::accuracy_first; }
};

struct RankedClass {
  std::int32_t index = 0;
  float probability = 0;
};

/// The `top` most likely classes, ties by index.
std::vector<RankedClass> rank_classes(std::span<const float> probabilities, std::size_t top);

/// The softmax of one row of logits: exp(logit - max) over their sum.
std::vector<float> softmax(std::span<const float> logits);

}  // namespace ptrain

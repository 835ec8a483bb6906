// Regression: one value per sample.
#pragma once

#include "core/data/tensor_names.h"
#include "core/tasks/task.h"

namespace ptrain {

class Regression final : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "regression"; }
  std::vector<std::string> targets() const override { return {tensor_names::values}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// Mean squared error of predictions [N, 1] against values [N].
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  std::vector<std::string> columns(const PredictionOptions& form) const override;
  /// The value; its error is the distance from the label.
  std::vector<Prediction> predictions(const Batch& batch, const Batch& scores,
                                      const PredictionOptions& form) const override;
};

}  // namespace ptrain

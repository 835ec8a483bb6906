// One of some classes for each sample.
#pragma once

#include "core/tasks/classification/classification_metrics.h"
#include "core/tasks/task.h"

namespace ptrain {

class Classification : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "classification"; }
  /// Softmax cross entropy of logits [N, classes] against labels [N].
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;

 protected:
  /// Which of the metrics is the primary one.
  virtual ClassMetricsOrder order() const { return ClassMetricsOrder::accuracy_first; }
};

}  // namespace ptrain

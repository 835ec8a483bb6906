#include "core/tasks/regression/regression.h"

#include "core/data/tensor_names.h"
#include "core/ops/mean_squared_error.h"
#include "core/tasks/regression/regression_metrics.h"

namespace ptrain {

std::vector<Loss> Regression::add_losses(Graph& graph, Mode /*mode*/) const {
  const ValueId predictions = require_output(graph, tensor_names::logits);
  const ValueId values = graph.add_input(tensor_names::values, {DType::f32, Shape{graph.desc(predictions).shape[0]}});
  return {
      {"squared_error", graph.add(tensor_names::loss, std::make_shared<MeanSquaredError>(), {predictions, values})}};
}

std::vector<MetricInfo> Regression::metrics(std::int64_t /*classes*/) const { return RegressionMetrics::infos(); }

std::unique_ptr<Metrics> Regression::make_metrics(std::int64_t /*classes*/,
                                                  const std::vector<std::string>& /*names*/) const {
  return std::make_unique<RegressionMetrics>();
}

}  // namespace ptrain

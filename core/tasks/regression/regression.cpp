#include "core/tasks/regression/regression.h"

#include "core/config/config.h"
#include "core/data/tensor_names.h"
#include "core/ops/mean_squared_error.h"
#include "core/tasks/regression/regression_metrics.h"

#include <fmt/format.h>

#include <cmath>

namespace ptrain {

void Regression::check(const Config& config, const RejectKey& reject) const {
  constexpr const char* reason = "is for classes, which model.head regression does not have";
  if (config.model.classes > 1) {
    reject("model.classes", fmt::format("model.head regression has 1 value, got {}", config.model.classes));
  }
  reject_class_keys(config.data, reject, reason);
  if (config.train.label_smoothing > 0) reject("train.label_smoothing", reason);
}

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

std::vector<std::string> Regression::columns(const PredictionOptions& /*form*/) const { return {"value"}; }

std::vector<Prediction> Regression::predictions(const Batch& batch, const Batch& scores,
                                                const PredictionOptions& /*form*/) const {
  const HostTensor& values = scores.at(tensor_names::logits);
  const HostTensor* const labels = batch.find(tensor_names::values);
  std::vector<Prediction> all;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const double value{values.row<float>(row)[0]};
    Prediction& made = all.emplace_back();
    made.index = index_of_row(batch, row);
    made.answer = value;
    made.details = {{"value", value}};
    made.text = fmt::format("{:.4f}", value);
    made.cells = {fmt::format("{:.6g}", value)};
    if (labels == nullptr || std::isnan(labels->row<float>(row)[0])) continue;
    made.label = double{labels->row<float>(row)[0]};
    made.error = std::abs(made.label.get<double>() - value);
  }
  return all;
}

}  // namespace ptrain

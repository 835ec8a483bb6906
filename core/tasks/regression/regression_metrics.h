// Metrics of predicted values.
#pragma once

#include "core/tasks/metrics.h"

#include <optional>
#include <vector>

namespace ptrain {

class RegressionMetrics final : public Metrics {
 public:
  static std::vector<MetricInfo> infos();

  /// `values` [labels.size()].
  void add(std::span<const float> values, std::span<const float> labels);

  /// Rows whose label is unknown are skipped.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::int64_t samples() const override { return static_cast<std::int64_t>(values_.size()); }
  double mean_loss() const override { return mean_squared_error().value_or(0); }
  /// As scipy.stats.pearsonr and spearmanr define them, and sklearn.metrics.mean_squared_error. Correlations are absent
  /// where values or labels are all the same or not finite; their standard error is Fisher's, of atanh(r) 1/sqrt(N - 3)
  /// ("Statistical Methods for Research Workers", 1925, 35).
  std::vector<MetricValue> values() const override;

 private:
  std::optional<double> mean_squared_error() const;

  std::vector<double> values_, labels_;
};

}  // namespace ptrain

// Metrics of next-token prediction.
#pragma once

#include "core/tasks/metrics.h"

namespace ptrain {

class LanguageModelMetrics final : public Metrics {
 public:
  static std::vector<MetricInfo> infos();

  bool reads_outputs() const override { return false; }
  /// Adds a batch's mean loss, weighted by its samples.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::int64_t samples() const override { return samples_; }
  double mean_loss() const override { return samples_ == 0 ? 0.0 : loss_sum_ / static_cast<double>(samples_); }
  /// Perplexity is exp of the mean loss per token.
  std::vector<MetricValue> values() const override;

 private:
  std::int64_t samples_ = 0;
  double loss_sum_ = 0;
};

}  // namespace ptrain

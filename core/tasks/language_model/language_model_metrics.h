// Metrics of next-token prediction.
#pragma once

#include "core/tasks/metrics.h"

namespace ptrain {

/// exp of the mean loss per token.
const MetricInfo& perplexity_info();
/// Its value; absent without samples.
MetricValue measure_perplexity(const CountedMetrics& metrics);

class LanguageModelMetrics final : public CountedMetrics {
 public:
  static std::vector<MetricInfo> infos();

  bool reads_outputs() const override { return false; }
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  /// Perplexity is exp of the mean loss per token.
  std::vector<MetricValue> values() const override;
};

}  // namespace ptrain

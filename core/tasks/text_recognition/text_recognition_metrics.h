// Metrics of texts that are read in images, by greedy decoding.
#pragma once

#include "core/tasks/metrics.h"

namespace ptrain {

class TextRecognitionMetrics final : public CountedMetrics {
 public:
  static std::vector<MetricInfo> infos();

  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;

  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::vector<MetricValue> values() const override;

 private:
  double right_ = 0, distances_ = 0;
};

}  // namespace ptrain

// Metrics of text detection: precision, recall and their harmonic mean by ICDAR's rules.
#pragma once

#include "core/tasks/metrics.h"
#include "core/tasks/text_detection/match_text.h"

namespace ptrain {

class TextDetectionMetrics final : public CountedMetrics {
 public:
  static std::vector<MetricInfo> infos();

  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;

  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::vector<MetricValue> values() const override;

 private:
  TextMatches matches_;
};

}  // namespace ptrain

// Metrics of instance segmentation: COCO's of masks, and of boxes.
#pragma once

#include "core/tasks/detection/detection_metrics.h"

namespace ptrain {

class InstanceMetrics final : public CountedMetrics {
 public:
  /// Those of masks first; their names begin with mask_.
  static std::vector<MetricInfo> infos();

  /// Images without annotations in the batch are skipped.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::vector<MetricValue> values() const override;
  std::string signature() const override { return masks_.signature() + "; " + boxes_.signature(); }

 private:
  MeanAveragePrecision masks_{MatchedBy::masks}, boxes_;
};

}  // namespace ptrain

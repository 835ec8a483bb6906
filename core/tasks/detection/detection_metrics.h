// Metrics of detection: COCO's.
#pragma once

#include "core/tasks/detection/mean_average_precision.h"
#include "core/tasks/metrics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// The detections in a row of `detections` [D, 6], in px of the original image, which has that row of `placements`
/// (core/data/image/framing.h; empty: the model's input is the image).
std::vector<DetectedBox> read_detections(std::span<const float> detections, std::span<const float> placement);

class DetectionMetrics final : public CountedMetrics {
 public:
  static std::vector<MetricInfo> infos();

  /// Images without annotations in the batch are skipped.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::vector<MetricValue> values() const override;
  std::string signature() const override { return precision_.signature(); }

 private:
  MeanAveragePrecision precision_;
};

}  // namespace ptrain

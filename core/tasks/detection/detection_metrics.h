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

/// The objects that a model finds in a row of a batch, in px of the original image, with their masks where its scores
/// have mask_probabilities.
std::vector<DetectedBox> read_found(const Batch& batch, const Batch& scores, std::int64_t row);

/// The annotations of a batch's row, with their masks where the batch has object_masks.
std::vector<AnnotatedBox> read_annotated(const Batch& batch, std::int64_t row);

/// The metrics of COCO's figures; those of masks have names that begin with mask_.
std::vector<MetricInfo> describe_figures(MatchedBy matched_by);
std::vector<MetricValue> measure_figures(MatchedBy matched_by, const CocoFigures& figures);

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

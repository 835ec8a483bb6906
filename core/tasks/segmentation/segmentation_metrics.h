// Metrics of semantic segmentation.
#pragma once

#include "core/tasks/metrics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// The index of the largest of a pixel's logits, the first of equal ones.
std::int32_t likeliest_class(std::span<const float> logits);

class SegmentationMetrics final : public CountedMetrics {
 public:
  explicit SegmentationMetrics(std::int64_t classes)
      : classes_(classes), confusion_(static_cast<std::size_t>(classes * classes)) {}

  static std::vector<MetricInfo> infos();

  /// Pixels without a class, and images without a mask, are skipped.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  /// The mean intersection over union of the classes that occur as label or prediction (Everingham et al., "The PASCAL
  /// visual object classes challenge", 2010); the fraction of correct pixels.
  std::vector<MetricValue> values() const override;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> confusion_;  // [label, prediction], pixels
};

}  // namespace ptrain

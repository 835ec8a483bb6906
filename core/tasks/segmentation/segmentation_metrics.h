// Which pixels are given their class.
#pragma once

#include "core/tasks/metrics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// The place of the largest of a pixel's logits, of equal ones the first.
std::int32_t likeliest_class(std::span<const float> logits);

class SegmentationMetrics final : public Metrics {
 public:
  explicit SegmentationMetrics(std::int64_t classes)
      : classes_(classes), confusion_(static_cast<std::size_t>(classes * classes)) {}

  static std::vector<MetricInfo> infos();

  /// Pixels without a class, and images without a mask, are passed over.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::int64_t samples() const override { return samples_; }
  double mean_loss() const override { return samples_ == 0 ? 0.0 : loss_sum_ / static_cast<double>(samples_); }
  /// The mean over classes, of those that occur as label or answer, of intersection over union (Everingham et al., "The
  /// PASCAL visual object classes challenge", 2010); the part of the pixels that are right.
  std::vector<MetricValue> values() const override;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> confusion_;  // [label, answer], pixels
  std::int64_t samples_ = 0;
  double loss_sum_ = 0;
  bool has_loss_ = false;
};

}  // namespace ptrain

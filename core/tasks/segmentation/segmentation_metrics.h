// Metrics of semantic segmentation.
#pragma once

#include "core/tasks/metrics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

class SegmentationMetrics final : public CountedMetrics {
 public:
  /// Classes without a name in `names` are shown by their number.
  explicit SegmentationMetrics(std::int64_t classes, std::vector<std::string> names = {})
      : classes_(classes), names_(std::move(names)), confusion_(static_cast<std::size_t>(classes * classes)) {}

  static std::vector<MetricInfo> infos();

  /// Of pixels at the size of the label maps. Those without a class, and images without a mask, are skipped.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  /// The mean intersection over union of the classes that occur as label or prediction (Everingham et al., "The PASCAL
  /// visual object classes challenge", 2010); the fraction of correct pixels.
  std::vector<MetricValue> values() const override;
  /// Counts are of pixels.
  std::optional<ClassificationReport> details() const override;

 private:
  /// Pixels of one class.
  struct ClassPixels {
    std::int64_t labelled = 0, predicted = 0, both = 0;

    std::int64_t united() const { return labelled + predicted - both; }
  };
  std::vector<ClassPixels> by_class() const;
  std::string name_of(std::size_t index) const;

  std::int64_t classes_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> confusion_;  // [label, prediction], pixels
};

}  // namespace ptrain

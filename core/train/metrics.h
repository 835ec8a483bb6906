// Accuracy of classifiers, counted sample by sample.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

class ClassificationMetrics {
 public:
  explicit ClassificationMetrics(std::int64_t classes);

  /// `logits` [labels.size(), classes]. A label's rank is the number of logits above its own, ties by index;
  /// NaN counts as above.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);
  /// Weighs a batch's mean loss by its samples.
  void add_loss(double mean_loss, std::int64_t samples) { loss_sum_ += mean_loss * static_cast<double>(samples); }

  /// Everything counted, for adding up over ranks, and back.
  std::array<double, 7> sums() const;
  void set_sums(const std::array<double, 7>& sums);

  std::int64_t samples() const { return samples_; }
  double top1() const { return fraction(top1_); }
  double top5() const { return fraction(top5_); }
  double mean_loss() const { return samples_ == 0 ? 0.0 : loss_sum_ / static_cast<double>(samples_); }
  /// F1 of class 1 in a two-class task (GLUE's definition); 0 when class 1 is never predicted right.
  double f1() const;
  std::int64_t classes() const { return classes_; }

 private:
  double fraction(std::int64_t part) const {
    return samples_ == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(samples_);
  }

  std::int64_t classes_;
  std::int64_t samples_ = 0;
  std::int64_t top1_ = 0;
  std::int64_t top5_ = 0;
  std::int64_t true_positives_ = 0;
  std::int64_t predicted_positives_ = 0;
  std::int64_t actual_positives_ = 0;
  double loss_sum_ = 0;
};

}  // namespace ptrain

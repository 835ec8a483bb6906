#include "core/train/metrics.h"

#include <cmath>

namespace ptrain {

ClassificationMetrics::ClassificationMetrics(std::int64_t classes) : classes_(classes) {}

void ClassificationMetrics::add(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const auto classes = static_cast<std::size_t>(classes_);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto scores = logits.subspan(row * classes, classes);
    const auto label = static_cast<std::size_t>(labels[row]);
    std::size_t rank = 0, best = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      // Written so that NaN ranks above everything: a model that gives NaN is not counted as right.
      const bool below = c < label ? scores[c] < scores[label] : scores[c] <= scores[label];
      rank += c != label && !below ? 1 : 0;
      if (scores[c] > scores[best]) best = c;
    }
    ++samples_;
    top1_ += rank == 0 ? 1 : 0;
    top5_ += rank < 5 ? 1 : 0;
    predicted_positives_ += best == 1 ? 1 : 0;
    actual_positives_ += label == 1 ? 1 : 0;
    true_positives_ += best == 1 && label == 1 ? 1 : 0;
  }
}

std::array<double, 7> ClassificationMetrics::sums() const {
  const auto count = [](std::int64_t value) { return static_cast<double>(value); };  // exact below 2^53
  return {count(samples_),          count(top1_), count(top5_), count(true_positives_), count(predicted_positives_),
          count(actual_positives_), loss_sum_};
}

void ClassificationMetrics::set_sums(const std::array<double, 7>& sums) {
  std::int64_t* const counts[] = {&samples_,         &top1_, &top5_, &true_positives_, &predicted_positives_,
                                  &actual_positives_};
  for (std::size_t i = 0; i < std::size(counts); ++i) *counts[i] = std::llround(sums[i]);
  loss_sum_ = sums.back();
}

double ClassificationMetrics::f1() const {
  const std::int64_t denominator = predicted_positives_ + actual_positives_;
  return denominator == 0 ? 0.0 : 2.0 * static_cast<double>(true_positives_) / static_cast<double>(denominator);
}

}  // namespace ptrain

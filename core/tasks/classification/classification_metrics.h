// Accuracy of classifiers, counted sample by sample.
#pragma once

#include "core/tasks/metrics.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// How one class was answered. Ratios are 0 where there is nothing to divide by.
struct ClassCounts {
  std::int64_t truths = 0, answers = 0, right = 0;

  double precision() const;
  double recall() const;
  double f1() const;
};

/// Which of a classifier's metrics is the primary one.
enum class ClassMetricsOrder {
  accuracy_first,
  ranking_first,  // the area under the ROC curve where there are two classes, as of clicks, where few are positive
};

class ClassificationMetrics final : public Metrics {
 public:
  /// Classes that `names` does not name are told by their number.
  explicit ClassificationMetrics(std::int64_t classes, std::vector<std::string> names = {},
                                 ClassMetricsOrder order = ClassMetricsOrder::accuracy_first);

  /// Of so many classes; of 0, those that any number of classes has.
  static std::vector<MetricInfo> infos(std::int64_t classes, ClassMetricsOrder order);

  /// `logits` [labels.size(), classes], or anything that rises with them. A label's rank is the number of logits above
  /// its own, ties by index; NaN counts as above. Rows whose label is below 0 are passed over.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);
  /// Weighs a batch's mean loss by its samples.
  void add_loss(double mean_loss, std::int64_t samples);

  /// Rows without a label are passed over.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::int64_t samples() const override { return samples_; }
  double mean_loss() const override { return samples_ == 0 ? 0.0 : loss_sum_ / static_cast<double>(samples_); }

  /// As scikit-learn defines them (zero_division=0): F1 of class 1 of two; the mean F1 of classes that occur as label
  /// or answer; Matthews' coefficient of any number of classes (Gorodkin, "Comparing two K-category assignments by a
  /// K-category correlation coefficient", 2004), 0 where label or answers are of one class; the area under the ROC
  /// curve by ranks, ties counted half, with Hanley and McNeil's error ("The meaning and use of the area under a
  /// receiver operating characteristic (ROC) curve", 1982). All are absent without samples.
  std::vector<MetricValue> values() const override;
  /// Classes and cells by their names.
  std::optional<ClassificationReport> details() const override;

  std::vector<ClassCounts> by_class() const;

 private:
  struct Scored {
    double score;  // of class 1 over class 0
    bool positive;
  };

  struct Area {
    std::optional<double> value, standard_error;
  };

  /// A part of the samples and its binomial error.
  MetricValue fraction(const MetricInfo& info, std::int64_t part) const;
  Area area_under_curve() const;

  std::int64_t classes_;
  std::vector<std::string> names_;
  ClassMetricsOrder order_;
  std::int64_t samples_ = 0;
  std::int64_t top1_ = 0;
  std::int64_t top5_ = 0;
  double loss_sum_ = 0;
  std::int64_t loss_samples_ = 0;                                            // 0: nothing is known of the loss
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> confusion_;  // by label and answer
  std::vector<Scored> scored_;                                               // of two classes
};

}  // namespace ptrain

// Metrics of classifiers, counted sample by sample.
#pragma once

#include "core/tasks/classification/area_under_curve.h"
#include "core/tasks/metrics.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// Counts and ratios of one class. Ratios are 0 where the denominator is 0.
struct ClassCounts {
  std::int64_t labels = 0, predictions = 0, right = 0;

  double precision() const;
  double recall() const;
  double f1() const;
};

/// The primary metric of a classifier.
enum class ClassMetricsOrder {
  accuracy_first,
  ranking_first,  // with two classes, the area under the ROC curve: for clicks, where few samples are positive
};

class ClassificationMetrics final : public CountedMetrics {
 public:
  /// Classes without a name in `names` are shown by their number.
  explicit ClassificationMetrics(std::int64_t classes, std::vector<std::string> names = {},
                                 ClassMetricsOrder order = ClassMetricsOrder::accuracy_first);

  /// The metrics for that many classes; for 0, those that do not depend on the number.
  static std::vector<MetricInfo> infos(std::int64_t classes, ClassMetricsOrder order);

  /// `logits` [labels.size(), classes], or scores in the same order. A label's rank is the number of logits above its
  /// own, ties by index; NaN counts as above. Rows whose label is below 0 are skipped.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);

  /// Rows without a label are skipped.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  std::size_t parts() const override { return area_.parts(); }
  std::vector<double> part(std::size_t index) const override { return area_.part(index); }
  void merge_part(std::span<const double> part) override { area_.merge(part); }

  /// As scikit-learn defines them (zero_division=0): F1 of class 1 of two; the mean F1 of classes that occur as label
  /// or prediction; Matthews' coefficient for any number of classes (Gorodkin, "Comparing two K-category assignments by
  /// a K-category correlation coefficient", 2004), 0 where labels or predictions are of one class; the area under the
  /// ROC curve by ranks, ties counted half, with Hanley and McNeil's error ("The meaning and use of the area under a
  /// receiver operating characteristic (ROC) curve", 1982). All are absent without samples.
  std::vector<MetricValue> values() const override;
  /// Per-class results and the confusion matrix, by class name.
  std::optional<ClassificationReport> details() const override;

  std::vector<ClassCounts> by_class() const;

 private:
  /// A fraction of the samples and its binomial error.
  MetricValue fraction(const MetricInfo& info, std::int64_t part) const;
  std::string name_of(std::int64_t index) const;

  std::int64_t classes_;
  std::vector<std::string> names_;
  ClassMetricsOrder order_;
  std::int64_t top1_ = 0;
  std::int64_t top5_ = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> confusion_;  // by label and prediction
  AreaUnderCurve area_;   // for two classes: of the scores of class 1 over class 0
  bool has_nan_ = false;  // among these, which have no order then
};

}  // namespace ptrain

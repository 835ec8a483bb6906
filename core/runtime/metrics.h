// Accuracy of classifiers, and of regressions, counted sample by sample.
#pragma once

#include "core/report/accuracy_figures.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace ptrain {

/// How one class was answered. Ratios are 0 where there is nothing to divide by.
struct ClassCounts {
  std::int64_t truths = 0, answers = 0, right = 0;

  double precision() const;
  double recall() const;
  double f1() const;
};

class ClassificationMetrics {
 public:
  explicit ClassificationMetrics(std::int64_t classes);

  /// `logits` [labels.size(), classes], or anything that rises with them. A label's rank is the number of logits above
  /// its own, ties by index; NaN counts as above.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);
  /// Samples of which nothing but the loss is known.
  void add_samples(std::int64_t samples) { samples_ += samples; }
  /// Weighs a batch's mean loss by its samples.
  void add_loss(double mean_loss, std::int64_t samples) { loss_sum_ += mean_loss * static_cast<double>(samples); }

  /// Everything counted, as numbers that another rank adds to its own.
  std::vector<double> packed() const;
  void add_packed(std::span<const double> packed);

  std::int64_t samples() const { return samples_; }
  double top1() const { return fraction(top1_); }
  double top5() const { return fraction(top5_); }
  double mean_loss() const { return samples_ == 0 ? 0.0 : loss_sum_ / static_cast<double>(samples_); }
  /// F1 of class 1 in a two-class task (GLUE's definition); 0 when class 1 is never predicted right.
  double f1() const { return by_class()[1].f1(); }
  std::int64_t classes() const { return classes_; }

  std::vector<ClassCounts> by_class() const;
  /// As scikit-learn defines them (zero_division=0): the mean F1 of classes that occur as truth or answer; Matthews'
  /// coefficient of any number of classes (Gorodkin, "Comparing two K-category assignments by a K-category correlation
  /// coefficient", 2004), 0 where truth or answers are of one class; the area under the ROC curve by ranks, ties
  /// counted half. All are absent without samples.
  BalanceFigures balance() const;
  /// Classes and cells by `names`, or by their numbers where these end.
  ClassificationReport report(const std::vector<std::string>& names) const;

 private:
  struct Scored {
    double score;  // of class 1 over class 0
    bool positive;
  };

  double fraction(std::int64_t part) const {
    return samples_ == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(samples_);
  }
  std::optional<double> auc() const;

  std::int64_t classes_;
  std::int64_t samples_ = 0;
  std::int64_t top1_ = 0;
  std::int64_t top5_ = 0;
  double loss_sum_ = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> confusion_;  // by truth and answer
  std::vector<Scored> scored_;                                               // of two classes
};

class RegressionMetrics {
 public:
  /// `values` [truths.size()].
  void add(std::span<const float> values, std::span<const float> truths);

  /// Everything counted, as numbers that another rank adds to its own.
  std::vector<double> packed() const;
  void add_packed(std::span<const double> packed);

  std::int64_t samples() const { return static_cast<std::int64_t>(values_.size()); }
  /// As scipy.stats.pearsonr and spearmanr define them, and sklearn.metrics.mean_squared_error.
  ValueFigures figures() const;

 private:
  std::vector<double> values_, truths_;
};

}  // namespace ptrain

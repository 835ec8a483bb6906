// How well the scores of classes rank the several labels of samples, as YouTube-8M measures it.
#pragma once

#include "core/tasks/metrics.h"

namespace ptrain {

class MultiLabelMetrics final : public CountedMetrics {
 public:
  static std::vector<MetricInfo> infos();

  /// Counts the samples with labels, from their logits [N, classes].
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  /// `labels` are 1 for a sample's classes and 0 for others, of which it has at least one.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  /// Hit@1: the share of samples whose top class is one of their labels. PERR: the mean over samples of the precision
  /// of their n best classes, n being their number of labels; classes of probability 0 are no hits. GAP@20: the average
  /// precision over the 20 best classes of every sample, ranked together, where recall is of all labels (Abu-El-Haija
  /// et al., "YouTube-8M", 2016, and the eval_util.py of its code).
  std::vector<MetricValue> values() const override;
  std::string signature() const override { return "cutoff:20|ties:by class, against"; }

 private:
  struct Scored {
    float logit;
    bool is_label;
  };
  double average_precision() const;

  std::int64_t hits_ = 0, labels_ = 0;
  double precisions_ = 0;       // sum
  std::vector<Scored> scored_;  // the best classes of every sample
};

}  // namespace ptrain

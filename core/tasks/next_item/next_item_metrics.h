// How high recommendations rank the item that came next.
#pragma once

#include "core/tasks/metrics.h"

namespace ptrain {

class NextItemMetrics final : public CountedMetrics {
 public:
  static std::vector<MetricInfo> infos();

  /// Counts the ranks of all next items, among all items.
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  /// Recall and mean reciprocal rank of the twenty best, as session-based recommenders are compared by (Hidasi et al.
  /// 2016): items that score the same as the next one count against it.
  std::vector<MetricValue> values() const override;
  std::string signature() const override { return "cutoff:20|ties:against|candidates:all"; }

 private:
  std::int64_t targets_ = 0, found_ = 0;  // next items, and those among the twenty best
  double reciprocal_ranks_ = 0;           // sum
};

}  // namespace ptrain

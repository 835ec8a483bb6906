// Binary prediction by one logit: whether rows of tables are clicked.
#pragma once

#include "core/tasks/classification/classification.h"

namespace ptrain {

class Clicks final : public Classification {
 public:
  using Classification::Classification;

  std::string_view name() const override { return "clicks"; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// Binary cross entropy of logits [N, 1], of the second class, against labels [N].
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  /// Adds the first class, whose logit is 0.
  Batch scores(Batch outputs) const override;

 protected:
  /// Clicks are rare: the ranking says more than the accuracy.
  ClassMetricsOrder order() const override { return ClassMetricsOrder::ranking_first; }
};

}  // namespace ptrain

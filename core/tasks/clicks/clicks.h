// Yes or no to each sample, by one logit: rows of tables that are clicked or not.
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
  /// The first class has the logit 0.
  Batch scores(Batch outputs) const override;

 protected:
  /// Few are clicked: how well these are told from the others says more than how many are right.
  ClassMetricsOrder order() const override { return ClassMetricsOrder::ranking_first; }
};

}  // namespace ptrain

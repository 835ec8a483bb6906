// The next item of a session, from those before it: what a language model learns, measured as recommendations are.
#pragma once

#include "core/tasks/language_model/language_model.h"

namespace ptrain {

class NextItem final : public LanguageModel {
 public:
  using LanguageModel::LanguageModel;

  std::string_view name() const override { return "next_item"; }
  /// In training with candidates, of which logits [N, S, C] are: that the next item is the most probable one of them
  /// and itself, by cross entropy; or ranks before them, by BPR's mean over them, BPR-max (GRU4Rec's), or by a margin
  /// (SSR's hinge).
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  /// Adds where each next item is among the candidates, where there are some.
  void collate(Batch& batch) const override;
  bool reads_outputs(Mode mode) const override { return mode != Mode::training; }
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;

 private:
  /// Replaces the scores of all items, far more than metrics need, by the ranks of those that came next.
  void add_measures(Graph& graph, ValueId logits, ValueId next) const override;
};

}  // namespace ptrain

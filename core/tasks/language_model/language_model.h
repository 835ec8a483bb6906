// Language modelling: predicts the next token after each of a text's tokens.
#pragma once

#include "core/tasks/task.h"

namespace ptrain {

class LanguageModel : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "language_model"; }
  std::vector<std::string> targets() const override { return {}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// Softmax cross entropy of logits [N, S, vocabulary] against next tokens [N * S].
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  /// Metrics read the loss alone, so that the logits over a vocabulary, by far the largest value, are never kept.
  bool reads_outputs(Mode mode) const override { return is_deployed(mode); }
  /// A deployed model generates the continuation of a text.
  bool predicts_samples() const override { return false; }
  bool weighs_targets() const override { return true; }
  /// Sets each row's targets to its tokens, shifted by one; of chats, to those that are learnt.
  void collate(Batch& batch) const override;

 private:
  /// Adds to an evaluated graph what metrics read besides the loss, from logits [N, S, vocabulary] and next tokens
  /// [N * S]; may replace the graph's outputs by it.
  virtual void add_measures(Graph& /*graph*/, ValueId /*logits*/, ValueId /*next*/) const {}
};

}  // namespace ptrain

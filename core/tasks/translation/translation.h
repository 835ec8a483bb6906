// Translation: predicts the next token of a translation, from its source and the tokens before.
#pragma once

#include "core/tasks/task.h"

namespace ptrain {

class TranslationTask final : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "translation"; }
  std::vector<std::string> targets() const override;
  void check(const Config& config, const RejectKey& reject) const override;
  /// Softmax cross entropy of logits [T, vocabulary] against next tokens [T], the mean over the translations' tokens.
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  /// The logits of all tokens, of which there is no use besides the loss; a decoder reads those of one token each.
  bool reads_outputs(Mode mode) const override { return is_deployed(mode); }
  bool weighs_targets() const override { return true; }
  bool predicts_samples() const override { return false; }
  bool translates() const override { return true; }

  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
};

}  // namespace ptrain

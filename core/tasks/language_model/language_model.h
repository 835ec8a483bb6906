// The next token behind each of a text's tokens.
#pragma once

#include "core/tasks/task.h"

namespace ptrain {

class LanguageModel final : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "language_model"; }
  std::vector<std::string> targets() const override { return {}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// Softmax cross entropy of logits [N, S, vocabulary] against next tokens [N * S].
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  /// Logits of a vocabulary are by far the largest value: in training gradients take their place.
  bool reads_outputs(Mode mode) const override { return mode != Mode::training; }
  /// A deployed model goes on with a text.
  bool predicts_samples() const override { return false; }
  /// The tokens of each row are its targets, one further on.
  void collate(Batch& batch) const override;
};

}  // namespace ptrain

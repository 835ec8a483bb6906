// Text recognition: reads the line of text in an image, whose characters' places are not known (connectionist temporal
// classification).
#pragma once

#include "core/data/tensor_names.h"
#include "core/tasks/task.h"

namespace ptrain {

class TextRecognition final : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "text_recognition"; }
  std::vector<std::string> targets() const override { return {tensor_names::characters}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// CtcLoss of logits [N, T, classes], class 0 the blank, against characters [N, L], an input that the model declares
  /// since it knows how many it can read.
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  bool reads_outputs(Mode mode) const override { return mode != Mode::training; }
  bool predicts_texts() const override { return true; }
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  std::vector<std::string> columns(const PredictionOptions& form) const override;
  /// The text of greedy decoding with its probability; the error is its edit distance to the label, as a share of the
  /// longer one.
  std::vector<Prediction> predictions(const Batch& batch, const Batch& scores,
                                      const PredictionOptions& form) const override;
};

}  // namespace ptrain

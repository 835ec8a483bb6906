// Text detection: boxes around lines of text in images, by differentiable binarization (Liao et al. 2020).
#pragma once

#include "core/data/boxes/text_boxes.h"
#include "core/tasks/task.h"

namespace ptrain {

class TextDetection final : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "text_detection"; }
  std::vector<std::string> targets() const override { return {tensor_names::text_boxes}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// With P and T, the logistic functions of logits and threshold_logits [N,H,W,1], and the text map y: 5 times the
  /// binary cross entropy of P and y, the mean over the pixels of text and the hardest others, three times as many;
  /// 10 times the mean distance of T from the threshold map; and the Dice loss of y and B, the logistic function of
  /// 50 (P - T). Without threshold_logits, in evaluation, only the first.
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  bool reads_outputs(Mode mode) const override { return mode != Mode::training; }
  /// Replaces the logits by text_probabilities.
  void postprocess(Graph& graph) const override;
  bool predicts_text_boxes() const override { return true; }
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  std::vector<std::string> columns(const PredictionOptions& form) const override;
  /// The boxes in px of the original image, clipped to it, with their scores; answer and label are their numbers.
  std::vector<Prediction> predictions(const Batch& batch, const Batch& scores,
                                      const PredictionOptions& form) const override;
};

}  // namespace ptrain

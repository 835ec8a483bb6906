// Semantic segmentation: one class for each pixel of an image.
#pragma once

#include "core/data/tensor_names.h"
#include "core/tasks/task.h"

namespace ptrain {

class Segmentation final : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "segmentation"; }
  std::vector<std::string> targets() const override { return {tensor_names::masks}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// Softmax cross entropy of logits [N, H, W, classes] against masks [N, H, W], over the pixels that have a class;
  /// by data.class_weights if given; plus half that of the model's auxiliary logits, if any (Zhao et al. 2017; the
  /// weight in torchvision's references).
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  /// In training their memory is reused for gradients.
  bool reads_outputs(Mode mode) const override { return mode != Mode::training; }
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  Batch mirrored(Batch scores) const override;
  /// Adds the most likely class of each pixel, the first of equal ones: i32 [N, H, W].
  Batch answers(Batch scores) const override;
  bool predicts_label_maps() const override { return true; }
  /// One column per class: its share of the pixels.
  std::vector<std::string> columns(const PredictionOptions& form) const override;
  /// The classes that pixels have, by name, with their shares; the error is the fraction of wrong pixels.
  std::vector<Prediction> predictions(const Batch& batch, const Batch& scores,
                                      const PredictionOptions& form) const override;
};

}  // namespace ptrain

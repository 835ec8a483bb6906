// One of some classes for each pixel of an image.
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
  /// half as much of the model's auxiliary logits, where it has some (Zhao et al. 2017; torchvision's references weigh
  /// so).
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  /// In training gradients take their place.
  bool reads_outputs(Mode mode) const override { return mode != Mode::training; }
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  Batch mirrored(Batch scores) const override;
  /// The likeliest class of each pixel, of equal ones the first: i32 [N, H, W] beside the logits.
  Batch answers(Batch scores) const override;
  /// The share of the pixels that each class has.
  std::vector<std::string> columns(const PredictionOptions& form) const override;
  /// The same by name, classes that have pixels alone; a wrong one's error is the part of the pixels that is wrong.
  std::vector<Prediction> predictions(const Batch& batch, const Batch& scores,
                                      const PredictionOptions& form) const override;
};

}  // namespace ptrain

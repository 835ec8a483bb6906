// Object detection by anchors: boxes around objects of several classes.
#pragma once

#include "core/data/tensor_names.h"
#include "core/tasks/task.h"

namespace ptrain {

class Detection : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "detection"; }
  std::vector<std::string> targets() const override { return {tensor_names::annotations}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// The sigmoid focal loss of the classes, and the absolute differences of the boxes of anchors with an object; each
  /// is the sum over an image's anchors, divided by their number with an object, averaged over images (RetinaNet's as
  /// in torchvision).
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  bool reads_outputs(Mode mode) const override { return mode != Mode::training; }
  /// Replaces class_logits and box_deltas by detections.
  void postprocess(Graph& graph) const override;
  /// Matches anchors and objects.
  void collate(Batch& batch) const override;
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;
  bool predicts_objects() const override { return true; }
  /// One column per class: the number of its objects.
  std::vector<std::string> columns(const PredictionOptions& form) const override;
  /// The number of objects by class, of those with a score of at least a half; all boxes among the details. The error
  /// is the number of objects too many or too few.
  std::vector<Prediction> predictions(const Batch& batch, const Batch& scores,
                                      const PredictionOptions& form) const override;
};

}  // namespace ptrain

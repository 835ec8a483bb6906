// Object detection without anchors of several shapes: what a location learns follows from what it predicts.
#pragma once

#include "core/tasks/detection/detection.h"

namespace ptrain {

/// Of detectors whose locations are cells of strides 32, 16 and 8 px, and whose boxes have a distribution over
/// distances for each side.
class AlignedDetection final : public Detection {
 public:
  using Detection::Detection;

  std::string_view name() const override { return "aligned_detection"; }
  /// Only models in training read objects.
  bool has_losses(Mode mode) const override { return mode == Mode::training; }
  /// Those of PP-YOLOE (Xu et al. 2022) with task-aligned assignment (AssignBoxes): the varifocal loss of the classes,
  /// 1 - GIoU of the boxes and the distribution focal loss of their sides, weighted 1, 2.5 and 0.5; the latter two are
  /// weighted by the assigned scores too, and each is divided by the sum of these scores in the rank's micro-batch, at
  /// least 1.
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  /// Replaces class_logits and box_bins by detections.
  void postprocess(Graph& graph) const override;
  /// Lists the objects that are learnt.
  void collate(Batch& batch) const override;
};

}  // namespace ptrain

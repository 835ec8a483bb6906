// The object that each anchor learns, by how well the predictions of the anchors fit the objects.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/boxes.h"

namespace ptrain {

struct AssignBoxesAttributes {
  AnchorGrid anchors;
  std::int32_t per_object = 13;  // anchors that may learn an object
};

/// How well a prediction fits an object, by its probability of the object's class and its IoU with it.
PTRAIN_HD_INLINE float measure_alignment(float probability, float overlap) {
  const float cube = overlap * overlap * overlap;
  return probability * (cube * cube);
}

/// The share of the best fit among the anchors of an object, which has that IoU, as an anchor's score.
PTRAIN_HD_INLINE float score_alignment(float alignment, float best_alignment, float best_overlap) {
  return alignment / (best_alignment + 1e-9f) * best_overlap;
}

/// Whether the centre of a cell is inside of an object.
PTRAIN_HD_INLINE bool has_centre(const CornerBox& object, const CornerBox& cell) {
  const float x = cell.x0 + 0.5f * cell.width(), y = cell.y0 + 0.5f * cell.height();
  return x > object.x0 && x < object.x1 && y > object.y0 && y < object.y1;
}

/// inputs:  logits [N,A,K] of A anchors and K classes; distances f32 [N,A,4] (SideDistances); objects f32 [N,M,6],
///          columns as those of DetectObjects. Objects without area, or of no class, are none.
/// outputs: labels i32 [N,A], the class of the object that an anchor learns, -1 for none; scores f32 [N,A], how well it
///          fits, from 0 to 1; targets f32 [N,A,4], the object's SideDistances. Both are 0 where there is none.
/// Task-aligned assignment (Feng et al. 2021): the alignment of an anchor and an object is the probability of
/// the object's class times the sixth power of the IoU of the predicted box. An object is learnt by the anchors whose
/// centres are inside of it, at most `per_object` of the largest alignments, the first of equal ones; those of
/// alignment 0 are none. An anchor of several objects learns that of all objects with the largest IoU, the first of
/// equal ones. Scores are alignments in shares of the largest of the object's anchors, times the largest IoU of these.
/// They are targets, which have no gradient.
class AssignBoxes final : public OpWith<AssignBoxesAttributes> {
 public:
  enum Input { logits, distances, objects };
  enum Output { labels, scores, targets };
  using OpWith::OpWith;
  std::string_view type() const override { return "assign_boxes"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& /*builder*/) const override {}
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

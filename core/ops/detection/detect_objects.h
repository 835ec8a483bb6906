// The objects that a detector with anchors finds in each image.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/boxes.h"

namespace ptrain {

/// Which boxes are left out when they overlap a better one: those of its class, or those of its feature map.
enum class SuppressWithin { classes, levels };

struct DetectionAttributes {
  AnchorGrid anchors;
  float width = 0, height = 0;    // px, of the frame that boxes are clipped to
  float score = 0.05f;            // lowest score, exclusive; -1: any
  std::int32_t per_level = 1000;  // best candidates of a feature map
  float overlap = 0.5f;           // largest intersection over union of two objects
  std::int32_t per_image = 300;   // objects
  float least_side = 0;           // px, of boxes
  SuppressWithin within = SuppressWithin::classes;
  BoxForm form = BoxForm::deltas;  // of the numbers that make boxes
};

/// inputs:  logits [N, A, K] of A anchors and K classes; deltas [N, A, 4] (BoxDeltas, or SideDistances by `form`);
///          placements f32 [N, 5] (optional), to whose images boxes are clipped.
/// outputs: detections f32 [N, per_image, 6]: x0, y0, x1, y1, score and class, by descending score; unused rows are 0
///          and have class -1.
/// As torchvision's RetinaNet: candidates are pairs of an anchor and a class whose logistic score is above `score`, the
/// best of each level; boxes are decoded and clipped; of each class, a box that overlaps a better one is left out
/// (greedy non-maximum suppression). Equal scores are ordered by anchor and class. NaN is no candidate. With one class,
/// any score and suppression within levels they are the proposals of torchvision's region proposal network.
class DetectObjects final : public OpWith<DetectionAttributes> {
 public:
  enum Input { logits, deltas, placements };
  enum Column { x0, y0, x1, y1, score, label, columns };
  using OpWith::OpWith;
  std::string_view type() const override { return "detect_objects"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int input) const override { return input != placements; }
};

}  // namespace ptrain

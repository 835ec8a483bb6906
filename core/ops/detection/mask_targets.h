// The masks of objects within the boxes that have them, as detectors learn them.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct MaskTargetsAttributes {
  std::int32_t bins = 28;  // of a side of the result
};

/// inputs:  boxes f32 [N,S,K], of which the first four columns are corners in px of the resized image; matches i32
/// [N,S],
///          an object or a negative number for none; ranges i32 [N,M,2], each object's first run and their number; runs
///          i32 [N,T], where the runs of an image's masks end (PlacedMask); placements f32 [N,5] of the images
///          (core/data/image/framing.h).
/// outputs: targets f32 [N,S,bins,bins], RoIAlign of the resized masks with as many samples as bins have pixels
///          (torchvision's project_masks_on_boxes); 0 without an object. They have no gradient.
class MaskTargets final : public OpWith<MaskTargetsAttributes> {
 public:
  enum Input { boxes, matches, ranges, runs, placements };
  using OpWith::OpWith;
  std::string_view type() const override { return "mask_targets"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& /*builder*/) const override {}
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
};

}  // namespace ptrain

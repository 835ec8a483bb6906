// Objects relative to the boxes that have them, as detectors learn them.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/boxes.h"

namespace ptrain {

/// inputs:  boxes f32 [N,S,K] and objects f32 [N,S,L], of which the first four columns are corners in px.
/// outputs: deltas f32 [N,S,4] from each box to its object, times the weights (encode_box); 0 where either has no area.
/// They are targets, which have no gradient.
class EncodeBoxes final : public OpWith<BoxWeights> {
 public:
  enum Input { boxes, objects };
  using OpWith::OpWith;
  std::string_view type() const override { return "encode_boxes"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& /*builder*/) const override {}
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

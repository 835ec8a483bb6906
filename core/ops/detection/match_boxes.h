// The object that each box has, by their overlap.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/boxes.h"

namespace ptrain {

struct MatchBoxesAttributes {
  float positive = 0.5f;    // least intersection over union (IoU) of a box that has an object
  float background = 0.5f;  // IoU below which it has none; between both a box is ignored
};

/// inputs:  boxes f32 [N,B,K] and objects f32 [N,M,L], of which the first four columns are corners in px.
/// outputs: matches i32 [N,B]: the object with which a box's IoU is largest, the first of equal ones;
///          BoxMatch::background, or BoxMatch::ignored, which boxes without area are too. Objects without area are
///          none.
class MatchBoxes final : public OpWith<MatchBoxesAttributes> {
 public:
  enum Input { boxes, objects };
  using OpWith::OpWith;
  std::string_view type() const override { return "match_boxes"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// Checks an optional input for f32 [images,5].
void require_placements(std::span<const TensorDesc> inputs, int input, std::int64_t images);
/// Checks for f32 [N,B,4 or more], as `what`.
void require_boxes(const TensorDesc& boxes, const char* what);

}  // namespace ptrain

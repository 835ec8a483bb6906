// RoIAlign (He et al. 2017, "Mask R-CNN") of regions on the maps of a feature pyramid, and its gradient.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/roi_align.h"

namespace ptrain {

struct RoiAlignAttributes {
  RoiLevels levels;
  std::int32_t bins = 7;     // of a side of the result
  std::int32_t samples = 2;  // of a side of a bin

  std::string to_string() const;
};

/// inputs:  boxes f32 [N,R,K], of which the first four columns are x0, y0, x1, y1 in px of the image; a feature map
///          [N,H,W,C] for each level, the finest first.
/// outputs: y [N*R,bins,bins,C] in the maps' dtype, summed in fp32: each bin is the mean of bilinear samples of the map
///          that a box's size chooses. As torchvision's MultiScaleRoIAlign, whose RoIAlign has aligned=False.
/// Boxes have no gradient.
class RoiAlign final : public OpWith<RoiAlignAttributes> {
 public:
  enum Input { boxes, maps };
  using OpWith::OpWith;

  std::string_view type() const override { return "roi_align"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool amp_casts_input(int input) const override { return input != boxes; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct RoiAlignGradAttributes {
  RoiAlignAttributes align;
  std::vector<Shape> maps;  // [N,H,W,C]
};

/// inputs:  boxes f32 [N,R,K]; dy [N*R,bins,bins,C].
/// outputs: the gradient of each map in dy's dtype, summed in fp32 in the order of the boxes.
class RoiAlignGrad final : public OpWith<RoiAlignGradAttributes> {
 public:
  enum Input { boxes, dy };
  using OpWith::OpWith;

  std::string_view type() const override { return "roi_align_grad"; }
  std::string attributes() const override { return attributes_.align.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  bool amp_casts_input(int input) const override { return input != boxes; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

// The boxes of a detector that gives each side a distribution over distances.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  bins [N,A,4 K], logits of the distances 0 to K-1 of a box's left, upper, right and lower side.
/// outputs: distances f32 [N,A,4], the means of their softmax (SideDistances).
/// It has no gradient: BoxDistributionLoss computes the distances that it needs. Bins of low precision are not cast
/// before, since there are many: kernels compute in fp32.
class BoxDistances final : public Op {
 public:
  std::string_view type() const override { return "box_distances"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// Checks for floating [N,A,4 K] with K of at least two, and returns [N,A,4].
Shape require_bins(const TensorDesc& bins);

}  // namespace ptrain

// The losses of boxes that have a distribution over distances for each side, and their gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  bins [N,A,4 K], as BoxDistances reads; targets f32 [N,A,4], SideDistances of the wanted boxes; weights f32
///          [N,A].
/// outputs: overlap f32 [], the weighted sum of 1 - GIoU of the boxes of the mean distances; distribution f32 [], that
///          of the means over the four sides of the cross entropies of the two whole distances around the wanted one,
///          which shares them linearly (the distribution focal loss; Li et al. 2020); it is at most K - 1.01.
/// Boxes of weight 0 count nowhere, whatever their bins. Bins of low precision are not cast before, since few of them
/// count: kernels compute in fp32, in which areas neither overflow nor vanish.
class BoxDistributionLoss final : public Op {
 public:
  enum Input { bins, targets, weights };
  enum Output { overlap, distribution };
  std::string_view type() const override { return "box_distribution_loss"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs: bins [N,A,4 K]; targets f32 [N,A,4]; weights f32 [N,A]; doverlap and ddistribution f32 [], each optional.
/// outputs: dbins, as the bins.
class BoxDistributionLossGrad final : public Op {
 public:
  enum Input { bins, targets, weights, doverlap, ddistribution };
  std::string_view type() const override { return "box_distribution_loss_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

// The sigmoid focal loss of many classes, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct FocalLossAttributes {
  float alpha = 0.25f;  // weight of target 1; target 0 has the rest
};

/// inputs:  logits [R.., K]; labels i32 [R..], a class below K, or any other number for none; weights f32 [R..]
///          (optional; absent: all 1); scores f32 [R..] (optional), how well a row fits its object, from 0 to 1.
/// outputs: loss f32 [], the weighted sum over rows of the sum over classes of -alpha_t (1 - p_t)^2 log(p_t)
///          (torchvision's sigmoid_focal_loss with gamma 2). Rows of weight 0 do not count, whatever their logits.
///          With scores q, the term of a row's own class is instead -q (q log(p) + (1 - q) log(1 - p)): the varifocal
///          loss (Zhang et al. 2021, "VarifocalNet").
/// Logits of low precision are not cast before, since there are many: kernels compute in fp32.
class SigmoidFocalLoss final : public OpWith<FocalLossAttributes> {
 public:
  enum Input { logits, labels, weights, scores };
  using OpWith::OpWith;
  std::string_view type() const override { return "sigmoid_focal_loss"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs: logits [R.., K]; labels i32 [R..]; weights, scores f32 [R..], each optional; dloss f32 [].
/// outputs: dlogits, as the logits.
class SigmoidFocalLossGrad final : public OpWith<FocalLossAttributes> {
 public:
  enum Input { logits, labels, weights, scores, dloss };
  using OpWith::OpWith;
  std::string_view type() const override { return "sigmoid_focal_loss_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int) const override { return false; }
  int inplace_input(int) const override { return logits; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

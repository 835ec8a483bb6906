// The gradient of the loss with respect to itself: the start of the backward pass.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Inputs: [loss_scale f32[4] (see loss_scale_update.h), optional]. Output: f32 [] = factor * scale.
class LossGradient final : public Op {
 public:
  enum Input { loss_scale };
  /// `factor` is 1 / (number of gradients that are accumulated later).
  explicit LossGradient(float factor) : factor_(factor) {}
  float factor() const { return factor_; }

  std::string_view type() const override { return "loss_gradient"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }

 private:
  float factor_;
};

}  // namespace ptrain

// A factor for each channel of a residual branch, y = x * gamma (Touvron et al. 2021), and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  x [..., C]; gamma f32 [C].
/// outputs: y [..., C] in x's dtype.
class LayerScale final : public Op {
 public:
  enum Input { x, gamma };
  std::string_view type() const override { return "layer_scale"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool amp_casts_input(int input) const override { return input == x; }
  int inplace_input(int /*output*/) const override { return x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs:  dy, x [..., C] of one dtype; gamma f32 [C].
/// outputs: dx in that dtype; dgamma f32 [C], the sums of dy x over the rows.
class LayerScaleGrad final : public Op {
 public:
  enum Input { dy, x, gamma };
  enum Output { dx, dgamma };
  std::string_view type() const override { return "layer_scale_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool amp_casts_input(int input) const override { return input != gamma; }
  int inplace_input(int output) const override { return output == dx ? dy : -1; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

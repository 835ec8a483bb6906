// Layer normalisation over the last axis, y = (x - mean) * rstd * gamma + beta, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  x [..., H]; gamma f32 [H]; beta f32 [H].
/// outputs: y [..., H] in x's dtype; mean f32 [...]; rstd f32 [...] = 1 / sqrt(variance + epsilon).
class LayerNorm final : public Op {
 public:
  enum Input { x, gamma, beta };
  explicit LayerNorm(float epsilon) : epsilon_(epsilon) {}
  float epsilon() const { return epsilon_; }

  std::string_view type() const override { return "layer_norm"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  float epsilon_;
};

/// inputs:  dy [..., H]; x [..., H]; gamma f32 [H]; mean, rstd f32 [...].
/// outputs: dx [..., H] in x's dtype; dgamma f32 [H]; dbeta f32 [H].
class LayerNormGrad final : public Op {
 public:
  enum Input { dy, x, gamma, mean, rstd };
  std::string_view type() const override { return "layer_norm_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == dy || input == x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

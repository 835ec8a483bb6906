// Root mean square normalisation, y = x * rstd * gamma with rstd = 1 / sqrt(mean(x^2) + epsilon) (Zhang and Sennrich,
// 2019), over the last axis or over equal groups of it, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  x [..., G*H]; gamma f32 [H], which all G groups (attention heads, say) share.
/// outputs: y [..., G*H] in x's dtype; rstd f32 [..., G].
/// Statistics and products are f32 whatever x's dtype; the result is rounded once.
class RmsNorm final : public Op {
 public:
  enum Input { x, gamma };
  explicit RmsNorm(float epsilon) : epsilon_(epsilon) {}
  float epsilon() const { return epsilon_; }

  std::string_view type() const override { return "rms_norm"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  float epsilon_;
};

/// inputs:  dy [..., G*H]; x [..., G*H]; gamma f32 [H]; rstd f32 [..., G].
/// outputs: dx [..., G*H] in x's dtype; dgamma f32 [H].
class RmsNormGrad final : public Op {
 public:
  enum Input { dy, x, gamma, rstd };
  std::string_view type() const override { return "rms_norm_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == dy || input == x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

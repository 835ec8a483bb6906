// Group normalisation (Wu and He 2018): over the pixels and the channels of a group of each image,
// y = (x - mean) * rstd * gamma + beta, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct GroupNormAttributes {
  int groups = 32;  // divides the channels
  float epsilon = 1e-5f;
};

/// inputs:  x [N,...,C]; gamma f32 [C]; beta f32 [C].
/// outputs: y [N,...,C] in x's dtype; mean f32 [N,groups]; rstd f32 [N,groups] = 1 / sqrt(variance + epsilon).
/// Group g has the channels from g C / groups on (torch.nn.GroupNorm).
class GroupNorm final : public OpWith<GroupNormAttributes> {
 public:
  enum Input { x, gamma, beta };
  enum Output { y, mean, rstd };
  using OpWith::OpWith;

  std::string_view type() const override { return "group_norm"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs:  dy [N,...,C]; x [N,...,C]; gamma f32 [C]; mean, rstd f32 [N,groups].
/// outputs: dx [N,...,C] in x's dtype; dgamma f32 [C]; dbeta f32 [C].
class GroupNormGrad final : public Op {
 public:
  enum Input { dy, x, gamma, mean, rstd };
  enum Output { dx, dgamma, dbeta };

  std::string_view type() const override { return "group_norm_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == dy || input == x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

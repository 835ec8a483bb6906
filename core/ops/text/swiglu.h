// SwiGLU, y = silu(gate) * up of a feed-forward layer whose two halves are one product (Shazeer, 2020), and its
// gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  x [..., 2*H]: each row's gate and then its up values.
/// outputs: y [..., H] in x's dtype, computed in f32 and rounded once.
class SwiGlu final : public Op {
 public:
  std::string_view type() const override { return "swiglu"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs:  x [..., 2*H]; dy [..., H].
/// outputs: dx [..., 2*H] in x's dtype.
class SwiGluGrad final : public Op {
 public:
  enum Input { x, dy };
  std::string_view type() const override { return "swiglu_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

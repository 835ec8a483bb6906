// Global L2 norm of all gradients, and whether any of them is not finite; of parts of them, and of these together.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Inputs: [grad f32[N] (optional), grad low precision [M] (optional), loss_scale f32[4] (optional)].
/// Output: f32[2] = {norm of the unscaled gradients, 1 if any element is infinite or NaN else 0}.
class GradNorm final : public Op {
 public:
  enum Input { grad_f32, grad_low, loss_scale };
  std::string_view type() const override { return "grad_norm"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// Inputs: [parts f32[2P]: what GradNorm gives for each of P parts, another part f32[2] (optional)].
/// Output: f32[2], what it gives for all of them together.
class NormOfParts final : public Op {
 public:
  enum Input { parts, another };
  std::string_view type() const override { return "norm_of_parts"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
};

}  // namespace ptrain

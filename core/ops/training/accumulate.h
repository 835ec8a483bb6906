// Adds one tensor to another in place: gradient accumulation over micro-batches, which may differ in weight.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Inputs: [total f32[N] (written in place), x f32|bf16|f16 [N], micro_step i32[1], weights f32[2]]. No outputs.
/// total becomes (total + weights[0] * x) * weights[1]; micro-step 0 starts a new sum.
class Accumulate final : public Op {
 public:
  enum Input { total, x, micro_step, weights };
  std::string_view type() const override { return "accumulate"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input == total; }
};

}  // namespace ptrain

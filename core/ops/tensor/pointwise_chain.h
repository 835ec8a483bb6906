// A chain of pointwise ops fused into one op; passes make it of unary and binary ops and their gradients.
#pragma once

#include "core/graph/op.h"

#include <array>

namespace ptrain {

/// A step of a chain: a Unary, UnaryGrad, Binary or BinaryGrad, and the value that each of its inputs reads: an input
/// of the chain or, numbered after these, the result of a step; -1 where it is absent.
struct PointwiseStep {
  static constexpr std::size_t most_operands = 3;

  OpPtr op;
  std::array<int, most_operands> operands{-1, -1, -1};
};

struct PointwiseChainAttributes {
  int inputs = 0;
  std::vector<PointwiseStep> steps = {};
};

/// Whether `op` can be a step of a chain.
bool is_pointwise_step(const Op& op);

/// inputs: [...] of one floating dtype, broadcast to each other.
/// outputs: the result of the last step [...]; nothing is rounded to the dtype between steps.
class PointwiseChain final : public OpWith<PointwiseChainAttributes> {
 public:
  static constexpr int most_inputs = 4, most_steps = 8;

  using OpWith::OpWith;
  std::string_view type() const override { return "pointwise_chain"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  int inplace_input(int) const override { return 0; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

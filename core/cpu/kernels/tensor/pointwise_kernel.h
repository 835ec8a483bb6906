// Runs pointwise ops: operands are read in runs of floats, each step is one loop, and the result is rounded.
#pragma once

#include "core/cpu/kernels/tensor/strided_runs.h"
#include "core/exec/kernel.h"
#include "core/ops/math/unary_math.h"
#include "core/ops/tensor/pointwise_chain.h"

namespace ptrain::cpu {

/// y[i] = function(inputs[0][i], inputs[1][i]...); y may be one of the inputs.
using PointwiseLoop = void (*)(const float* const* inputs, float* y, std::int64_t count, PointwiseConstants constants);

struct LoopWithConstants {
  PointwiseLoop loop;
  PointwiseConstants constants = {};
};

/// The loops of a Unary or UnaryGrad, and of a Binary or BinaryGrad.
LoopWithConstants unary_loop(const ptrain::Op& op);
LoopWithConstants binary_loop(const ptrain::Op& op);

/// A kernel with one output, to which all inputs are broadcast. Loops read zeros for absent inputs.
class PointwiseKernel final : public Kernel {
 public:
  /// For a chain, or an op that can be a step of one.
  explicit PointwiseKernel(const KernelContext& context);
  void run(const KernelArgs& args) override;

 private:
  struct Operand {
    DType dtype;
    StridedIndex index;
  };
  struct Step {
    LoopWithConstants loop;
    std::array<int, PointwiseStep::most_operands> operands;
  };
  void run_part(const KernelArgs& args, std::int64_t begin, std::int64_t end) const;
  const float* load(const Operand& operand, const void* from, std::int64_t begin, std::int64_t count,
                    float* buffer) const;

  std::vector<Operand> operands_;
  std::vector<Step> steps_;
  TensorDesc output_;
};

}  // namespace ptrain::cpu

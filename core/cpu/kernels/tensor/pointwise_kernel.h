// What unary and binary ops run by: operands are read in runs of floats, one loop computes, and the result is rounded.
#pragma once

#include "core/cpu/kernels/tensor/strided_runs.h"
#include "core/exec/kernel.h"
#include "core/ops/math/unary.h"

namespace ptrain::cpu {

/// y[i] = function(inputs[0][i], inputs[1][i]...); y may be one of the inputs.
using PointwiseLoop = void (*)(const float* const* inputs, float* y, std::int64_t count, PointwiseConstants constants);

/// Of one output, to which at most `most_operands` inputs are broadcast. The loop reads zeros of inputs that are
/// absent.
class PointwiseKernel final : public Kernel {
 public:
  static constexpr std::size_t most_operands = 3;

  PointwiseKernel(const KernelContext& context, PointwiseLoop loop, PointwiseConstants constants = {});
  void run(const KernelArgs& args) override;

 private:
  struct Operand {
    DType dtype;
    StridedIndex index;
  };
  void run_part(const KernelArgs& args, std::int64_t begin, std::int64_t end) const;
  const float* load(const Operand& operand, const void* from, std::int64_t begin, std::int64_t count,
                    float* buffer) const;

  PointwiseLoop loop_;
  PointwiseConstants constants_;
  std::vector<Operand> operands_;
  TensorDesc output_;
};

}  // namespace ptrain::cpu

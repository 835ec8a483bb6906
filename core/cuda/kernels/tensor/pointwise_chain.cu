// One thread per element of the result runs all steps; values stay in registers or the first-level cache.
#include "core/ops/tensor/pointwise_chain.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/tensor/pointwise_kernel.cuh"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/unary.h"

namespace ptrain::cuda {
namespace {

enum class StepForm { unary, unary_grad, binary, binary_grad_a, binary_grad_b };

struct ChainStep {
  StepForm form;
  UnaryFunction unary;
  BinaryFunction binary;
  int operands[PointwiseStep::most_operands];
  PointwiseConstants constants;
};

struct Chain {
  int inputs = 0, steps = 0;
  ChainStep step[PointwiseChain::most_steps] = {};
};

__device__ float unary_step(const ChainStep& step, float first, float second) {
#define PTRAIN_STEP(name, saved, amp, constant_count)                            \
  if (step.unary == UnaryFunction::name) {                                       \
    using Math = UnaryMath<UnaryFunction::name>;                                 \
    if (step.form == StepForm::unary) return Math::value(first, step.constants); \
    return Math::gradient(first, second, step.constants);                        \
  }
  PTRAIN_UNARY_FUNCTIONS(PTRAIN_STEP)
#undef PTRAIN_STEP
  return 0;
}

__device__ float binary_step(const ChainStep& step, float first, float second, float third) {
#define PTRAIN_STEP(name, saved, amp)                                                        \
  if (step.binary == BinaryFunction::name) {                                                 \
    using Math = BinaryMath<BinaryFunction::name>;                                           \
    if (step.form == StepForm::binary) return Math::value(first, second);                    \
    if (step.form == StepForm::binary_grad_a) return Math::gradient_a(first, second, third); \
    return Math::gradient_b(first, second, third);                                           \
  }
  PTRAIN_BINARY_FUNCTIONS(PTRAIN_STEP)
#undef PTRAIN_STEP
  return 0;
}

template <typename T>
struct ChainInputs {
  PointwiseOperand<T> of[PointwiseChain::most_inputs];
};

template <typename T>
__global__ void __launch_bounds__(block_threads)
    pointwise_chain_kernel(std::int64_t count, Chain chain, ChainInputs<T> inputs, T* y) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    float values[PointwiseChain::most_inputs + PointwiseChain::most_steps];
    for (int k = 0; k < chain.inputs; ++k) values[k] = inputs.of[k].at(i);
    int made = chain.inputs;
    for (int s = 0; s < chain.steps; ++s) {
      const ChainStep& step = chain.step[s];
      const auto operand = [&](int k) { return step.operands[k] < 0 ? 0.0f : values[step.operands[k]]; };
      const bool unary = step.form == StepForm::unary || step.form == StepForm::unary_grad;
      values[made++] =
          unary ? unary_step(step, operand(0), operand(1)) : binary_step(step, operand(0), operand(1), operand(2));
    }
    y[i] = from_float<T>(values[made - 1]);
  }
}

ChainStep make_step(const PointwiseStep& from) {
  ChainStep step{};
  std::copy(from.operands.begin(), from.operands.end(), step.operands);
  if (from.op->kernel() == "binary") {
    step.form = StepForm::binary;
    step.binary = static_cast<const Binary&>(*from.op).function();
  } else if (from.op->kernel() == "binary_grad") {
    const auto& gradient = static_cast<const BinaryGrad&>(*from.op);
    step.form = gradient.operand() == Operand::a ? StepForm::binary_grad_a : StepForm::binary_grad_b;
    step.binary = gradient.function();
  } else {
    const bool is_gradient = from.op->kernel() == "unary_grad";
    const UnaryAttributes& attributes =
        is_gradient ? static_cast<const UnaryGrad&>(*from.op).attrs() : static_cast<const Unary&>(*from.op).attrs();
    step.form = is_gradient ? StepForm::unary_grad : StepForm::unary;
    step.unary = attributes.function;
    step.constants = attributes.constants;
  }
  return step;
}

class PointwiseChainKernel final : public Kernel {
 public:
  PointwiseChainKernel(const KernelContext& context, Device& device) : device_(device), output_(context.outputs[0]) {
    const PointwiseChainAttributes& attributes = context.op_as<PointwiseChain>().attrs();
    chain_.inputs = attributes.inputs;
    for (const PointwiseStep& step : attributes.steps) chain_.step[chain_.steps++] = make_step(step);
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
      indices_[i] = broadcast_index(context.inputs[i].shape, output_.shape);
    }
  }

  void run(const KernelArgs& args) override {
    visit_floating(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      ChainInputs<T> inputs;
      for (std::size_t i = 0; i < args.inputs.size(); ++i) {
        inputs.of[i] = {static_cast<const T*>(args.inputs[i]), indices_[i]};
      }
      launch(pointwise_chain_kernel<T>, grid_blocks(device_, output_.count()), block_threads, device_, output_.count(),
             chain_, inputs, static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc output_;
  Chain chain_;
  StridedIndex indices_[PointwiseChain::most_inputs];
};

}  // namespace

std::unique_ptr<Kernel> make_pointwise_chain(const KernelContext& context, Device& device) {
  return std::make_unique<PointwiseChainKernel>(context, device);
}

}  // namespace ptrain::cuda

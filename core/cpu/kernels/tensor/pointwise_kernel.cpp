#include "core/cpu/kernels/tensor/pointwise_kernel.h"

#include "core/ops/tensor/broadcast.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t outputs_a_task = 1 << 13;
constexpr std::size_t most_values = PointwiseChain::most_inputs + PointwiseChain::most_steps;

LoopWithConstants make_loop(const ptrain::Op& op) {
  return op.kernel().starts_with("unary") ? unary_loop(op) : binary_loop(op);
}

}  // namespace

PointwiseKernel::PointwiseKernel(const KernelContext& context) : output_(context.outputs[0]) {
  for (const TensorDesc& input : context.inputs) {
    operands_.push_back({input.dtype, is_absent(input) ? StridedIndex{} : broadcast_index(input.shape, output_.shape)});
  }
  if (is_pointwise_step(context.op)) {
    steps_.push_back({make_loop(context.op), {0, 1, 2}});
    return;
  }
  for (const PointwiseStep& step : context.op_as<PointwiseChain>().attrs().steps) {
    steps_.push_back({make_loop(*step.op), step.operands});
  }
}

void PointwiseKernel::run(const KernelArgs& args) {
  parallel_for(output_.count(), outputs_a_task,
               [&](std::int64_t begin, std::int64_t end) { run_part(args, begin, end); });
}

/// In place if the operand is contiguous floats; otherwise copied to the buffer.
const float* PointwiseKernel::load(const Operand& operand, const void* from, std::int64_t begin, std::int64_t count,
                                   float* buffer) const {
  if (operand.dtype == DType::f32 && operand.index.is_contiguous()) return static_cast<const float*>(from) + begin;
  visit_floating(operand.dtype, [&](auto zero) {
    load_run(operand.index, static_cast<const decltype(zero)*>(from), begin, count, buffer);
  });
  return buffer;
}

void PointwiseKernel::run_part(const KernelArgs& args, std::int64_t begin, std::int64_t end) const {
  float buffers[most_values][run_length];
  const float zeros[run_length] = {};
  const float* values[most_values];
  std::fill_n(values, most_values, zeros);
  for (std::int64_t first = begin; first < end; first += run_length) {
    const std::int64_t count = std::min(run_length, end - first);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (args.inputs[i] != nullptr) values[i] = load(operands_[i], args.inputs[i], first, count, buffers[i]);
    }
    std::size_t made = operands_.size();
    for (const Step& step : steps_) {
      const bool in_place = &step == &steps_.back() && output_.dtype == DType::f32;
      const float* inputs[PointwiseStep::most_operands];
      for (std::size_t i = 0; i < PointwiseStep::most_operands; ++i) {
        inputs[i] = step.operands[i] < 0 ? zeros : values[step.operands[i]];
      }
      float* y = in_place ? static_cast<float*>(args.outputs[0]) + first : buffers[made];
      step.loop.loop(inputs, y, count, step.loop.constants);
      values[made++] = y;
    }
    if (output_.dtype == DType::f32) continue;
    visit_low_precision(output_.dtype, [&](auto zero) {
      convert_run(values[made - 1], static_cast<decltype(zero)*>(args.outputs[0]) + first, count);
    });
  }
}

}  // namespace ptrain::cpu

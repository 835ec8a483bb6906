#include "core/cpu/kernels/tensor/pointwise_kernel.h"

#include "core/base/errors.h"
#include "core/ops/tensor/broadcast.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t grain = 1 << 13;

}  // namespace

PointwiseKernel::PointwiseKernel(const KernelContext& context, PointwiseLoop loop, PointwiseConstants constants)
    : loop_(loop), constants_(constants), output_(context.outputs[0]) {
  invariant(context.inputs.size() <= most_operands, "a pointwise op has more operands than its kernel");
  for (const TensorDesc& input : context.inputs) {
    operands_.push_back({input.dtype, is_absent(input) ? StridedIndex{} : broadcast_index(input.shape, output_.shape)});
  }
}

void PointwiseKernel::run(const KernelArgs& args) {
  parallel_for(output_.count(), grain, [&](std::int64_t begin, std::int64_t end) { run_part(args, begin, end); });
}

/// Where they lie, if as floats in their order; otherwise in the buffer.
const float* PointwiseKernel::load(const Operand& operand, const void* from, std::int64_t begin, std::int64_t count,
                                   float* buffer) const {
  if (operand.dtype == DType::f32 && operand.index.is_contiguous()) return static_cast<const float*>(from) + begin;
  visit_floating(operand.dtype, [&](auto zero) {
    load_run(operand.index, static_cast<const decltype(zero)*>(from), begin, count, buffer);
  });
  return buffer;
}

void PointwiseKernel::run_part(const KernelArgs& args, std::int64_t begin, std::int64_t end) const {
  float buffers[most_operands][run_length] = {};
  float result[run_length];
  const float* inputs[most_operands] = {buffers[0], buffers[1], buffers[2]};
  for (std::int64_t first = begin; first < end; first += run_length) {
    const std::int64_t count = std::min(run_length, end - first);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (args.inputs[i] == nullptr) continue;
      inputs[i] = load(operands_[i], args.inputs[i], first, count, buffers[i]);
    }
    if (output_.dtype == DType::f32) {
      loop_(inputs, static_cast<float*>(args.outputs[0]) + first, count, constants_);
      continue;
    }
    loop_(inputs, result, count, constants_);
    visit_low_precision(output_.dtype, [&](auto zero) {
      convert_run(result, static_cast<decltype(zero)*>(args.outputs[0]) + first, count);
    });
  }
}

}  // namespace ptrain::cpu

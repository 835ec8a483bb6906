// Runs unary and binary ops: flat where no operand is broadcast, else each thread computes its operands' offsets.
#pragma once

#include "core/cuda/primitives/elementwise.cuh"
#include "core/exec/kernel.h"
#include "core/ops/math/unary_math.h"
#include "core/ops/tensor/broadcast.h"

namespace ptrain::cuda {

/// Addresses of an operand's elements; an absent operand reads as zero.
template <typename T>
struct PointwiseOperand {
  const T* from = nullptr;
  StridedIndex index = {};

  __device__ float at(std::int64_t i) const { return from == nullptr ? 0.0f : to_float(from[index.offset(i)]); }
};

/// No __restrict__: y may be an operand of its shape.
template <typename Function, typename T, typename... Operands>
__global__ void __launch_bounds__(block_threads)
    pointwise_kernel(std::int64_t count, Function function, T* y, Operands... operands) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads())
    y[i] = from_float<T>(function(operands.at(i)...));
}

/// One output and `inputs` operands of its dtype; Function receives their elements as floats.
template <typename Function, std::size_t inputs>
class PointwiseKernel final : public Kernel {
 public:
  PointwiseKernel(const KernelContext& context, Device& device, Function function)
      : device_(device), function_(function), output_(context.outputs[0]) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const bool given = has_input(context.inputs, static_cast<int>(i));
      if (given) indices_[i] = broadcast_index(context.inputs[i].shape, output_.shape);
      flat_ = flat_ && given && indices_[i].is_contiguous();
    }
  }

  void run(const KernelArgs& args) override {
    visit_floating(output_.dtype, [&](auto zero) { run_as<decltype(zero)>(args, std::make_index_sequence<inputs>{}); });
  }

 private:
  template <typename T, std::size_t... i>
  void run_as(const KernelArgs& args, std::index_sequence<i...>) const {
    auto* y = static_cast<T*>(args.outputs[0]);
    if (flat_) {
      map_elements(device_, output_.count(), function_, y, static_cast<const T*>(args.inputs[i])...);
    } else {
      launch(pointwise_kernel<Function, T, Always<PointwiseOperand<T>, i>...>, grid_blocks(device_, output_.count()),
             block_threads, device_, output_.count(), function_, y,
             PointwiseOperand<T>{static_cast<const T*>(args.inputs[i]), indices_[i]}...);
    }
  }
  template <typename Type, std::size_t>
  using Always = Type;

  Device& device_;
  Function function_;
  TensorDesc output_;
  StridedIndex indices_[inputs];
  bool flat_ = true;
};

}  // namespace ptrain::cuda

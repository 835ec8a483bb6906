// One number per row: one block adds them up, in order.
#include "core/ops/mean_squared_error.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"

#include <cmath>

namespace ptrain::cuda {
namespace {

/// In thread 0: the number of rows with a target; 1 if there is none. All threads of the block call it.
__device__ float rows_with_target(const float* targets, std::int64_t rows) {
  int counted = 0;
  for (std::int64_t r = threadIdx.x; r < rows; r += block_threads) counted += targets[r] == targets[r] ? 1 : 0;
  const int total = block_sum(counted);
  return static_cast<float>(total > 1 ? total : 1);
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    squared_error_kernel(const T* predictions, const float* targets, std::int64_t rows, float* loss) {
  double sum = 0;
  for (std::int64_t r = threadIdx.x; r < rows; r += block_threads) {
    if (targets[r] != targets[r]) continue;
    const double error = static_cast<double>(to_float(predictions[r])) - static_cast<double>(targets[r]);
    sum += error * error;
  }
  const double total = block_sum(sum);
  const float counted = rows_with_target(targets, rows);
  if (threadIdx.x == 0) *loss = static_cast<float>(total / static_cast<double>(counted));
}

__global__ void __launch_bounds__(block_threads)
    error_scale_kernel(const float* targets, std::int64_t rows, const float* dloss, float* scale) {
  const float counted = rows_with_target(targets, rows);
  if (threadIdx.x == 0) *scale = 2 * *dloss / counted;
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    squared_error_grad_kernel(const T* predictions, const float* targets, std::int64_t rows, const float* scale,
                              T* gradients) {
  for (std::int64_t r = grid_thread(); r < rows; r += grid_threads()) {
    const float target = targets[r];
    gradients[r] = from_float<T>(target != target ? 0.0f : *scale * (to_float(predictions[r]) - target));
  }
}

class MeanSquaredErrorKernel final : public Kernel {
 public:
  MeanSquaredErrorKernel(const KernelContext& context, Device& device)
      : device_(device), predictions_(context.inputs[MeanSquaredError::predictions]) {}

  void run(const KernelArgs& args) override {
    visit_floating(predictions_.dtype, [&](auto zero) {
      launch(squared_error_kernel<decltype(zero)>, 1, block_threads, device_,
             static_cast<const decltype(zero)*>(args.inputs[MeanSquaredError::predictions]),
             static_cast<const float*>(args.inputs[MeanSquaredError::targets]), predictions_.shape[0],
             static_cast<float*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc predictions_;
};

class MeanSquaredErrorGradKernel final : public Kernel {
 public:
  MeanSquaredErrorGradKernel(const KernelContext& context, Device& device)
      : device_(device), predictions_(context.inputs[MeanSquaredErrorGrad::predictions]) {}

  std::size_t workspace_bytes() const override { return sizeof(float); }

  void run(const KernelArgs& args) override {
    const auto* targets = static_cast<const float*>(args.inputs[MeanSquaredErrorGrad::targets]);
    auto* scale = static_cast<float*>(args.workspace);
    const std::int64_t rows = predictions_.shape[0];
    launch(error_scale_kernel, 1, block_threads, device_, targets, rows,
           static_cast<const float*>(args.inputs[MeanSquaredErrorGrad::dloss]), scale);
    visit_floating(predictions_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(squared_error_grad_kernel<T>, grid_blocks(device_, rows), block_threads, device_,
             static_cast<const T*>(args.inputs[MeanSquaredErrorGrad::predictions]), targets, rows, scale,
             static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc predictions_;
};

}  // namespace

std::unique_ptr<Kernel> make_mean_squared_error(const KernelContext& context, Device& device) {
  return std::make_unique<MeanSquaredErrorKernel>(context, device);
}
std::unique_ptr<Kernel> make_mean_squared_error_grad(const KernelContext& context, Device& device) {
  return std::make_unique<MeanSquaredErrorGradKernel>(context, device);
}

}  // namespace ptrain::cuda

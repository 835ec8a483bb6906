// Global average pooling of each channel, and its gradient; each thread has a pack of channels.
#include "core/ops/image/global_average_pool.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/pixels.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    mean_pool_kernel(const T* x, std::int64_t samples, std::int64_t pixels, std::int64_t channels, T* y) {
  const std::int64_t at = grid_thread() * n;
  if (at >= samples * channels) return;
  const T* source = x + at / channels * pixels * channels + at % channels;
  float sum[n] = {};
  for (std::int64_t i = 0; i < pixels; ++i) {
    float values[n];
    load(source + i * channels, values);
#pragma unroll
    for (int k = 0; k < n; ++k) sum[k] += values[k];
  }
  const float share = 1.0f / static_cast<float>(pixels);
#pragma unroll
  for (int k = 0; k < n; ++k) sum[k] *= share;
  store(y + at, sum);
}

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    spread_mean_kernel(const T* dy, std::int64_t samples, std::int64_t pixels, std::int64_t channels, T* dx) {
  const float share = 1.0f / static_cast<float>(pixels);
  const std::int64_t sample = pixels * channels;
  for (std::int64_t at = grid_thread() * n; at < samples * sample; at += grid_threads() * n) {
    float values[n];
    load(dy + at / sample * channels + at % channels, values);
#pragma unroll
    for (int k = 0; k < n; ++k) values[k] *= share;
    store(dx + at, values);
  }
}

/// Forward and backward differ only in the kernel. `images_` is [N,H,W,C], `means_` [samples,C].
template <Direction direction>
class PoolKernel final : public Kernel {
 public:
  PoolKernel(const TensorDesc& images, const TensorDesc& means, Device& device)
      : device_(device), images_(images), means_(means) {}

  void run(const KernelArgs& args) override {
    visit_floating(images_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* from = static_cast<const T*>(args.inputs[0]);
      auto* to = static_cast<T*>(args.outputs[0]);
      if (images_.shape[3] % pack == 0) {
        pool<pack>(from, to);
      } else {
        pool<1>(from, to);
      }
    });
  }

 private:
  template <int n, typename T>
  void pool(const T* from, T* to) {
    const std::int64_t samples = means_.shape[0], channels = images_.shape[3];
    const std::int64_t pixels = images_.count() / means_.count();
    if constexpr (direction == Direction::forward) {
      const unsigned blocks = blocks_for(samples * channels / n);
      launch(mean_pool_kernel<n, T>, blocks, block_threads, device_, from, samples, pixels, channels, to);
    } else {
      const int blocks = grid_blocks(device_, images_.count() / n);
      launch(spread_mean_kernel<n, T>, blocks, block_threads, device_, from, samples, pixels, channels, to);
    }
  }

  Device& device_;
  TensorDesc images_, means_;
};

}  // namespace

std::unique_ptr<Kernel> make_global_average_pool(const KernelContext& context, Device& device) {
  return std::make_unique<PoolKernel<Direction::forward>>(context.inputs[0], context.outputs[0], device);
}

std::unique_ptr<Kernel> make_global_average_pool_grad(const KernelContext& context, Device& device) {
  return std::make_unique<PoolKernel<Direction::backward>>(context.outputs[0], context.inputs[0], device);
}

}  // namespace ptrain::cuda

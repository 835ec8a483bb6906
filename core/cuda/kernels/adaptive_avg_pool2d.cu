// Adaptive average pooling and its gradient; each thread has a pack of channels of one window or pixel.
#include "core/ops/image/adaptive_avg_pool2d.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/pixels.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/adaptive_pool.h"

namespace ptrain::cuda {
namespace {

struct WindowsExtent {
  std::int64_t images, height, width, channels;
  std::int64_t size;  // windows along each axis
};

/// Inverse of a window's number of pixels.
__device__ inline float window_weight(const AdaptiveWindow& rows, const AdaptiveWindow& columns) {
  return 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
}

template <int n, typename T>
__global__ void __launch_bounds__(block_threads) adaptive_pool_kernel(WindowsExtent e, const T* x, T* y) {
  const std::int64_t count = e.images * e.size * e.size * e.channels;
  for (std::int64_t at = grid_thread() * n; at < count; at += grid_threads() * n) {
    const std::int64_t window = at / e.channels, image = window / (e.size * e.size);
    const AdaptiveWindow rows = adaptive_window(window / e.size % e.size, e.size, e.height);
    const AdaptiveWindow columns = adaptive_window(window % e.size, e.size, e.width);
    float sum[n] = {};
    for (std::int64_t h = rows.begin; h < rows.end; ++h) {
      for (std::int64_t w = columns.begin; w < columns.end; ++w) {
        float values[n];
        load(x + ((image * e.height + h) * e.width + w) * e.channels + at % e.channels, values);
#pragma unroll
        for (int k = 0; k < n; ++k) sum[k] += values[k];
      }
    }
    const float share = window_weight(rows, columns);
#pragma unroll
    for (int k = 0; k < n; ++k) sum[k] *= share;
    store(y + at, sum);
  }
}

/// Each pixel receives its share of every window that reads it.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads) adaptive_spread_kernel(WindowsExtent e, const T* dy, T* dx) {
  const std::int64_t count = e.images * e.height * e.width * e.channels;
  for (std::int64_t at = grid_thread() * n; at < count; at += grid_threads() * n) {
    const std::int64_t pixel = at / e.channels, image = pixel / (e.height * e.width);
    const AdaptiveWindow readers = adaptive_window(pixel / e.width % e.height, e.height, e.size);
    const AdaptiveWindow across = adaptive_window(pixel % e.width, e.width, e.size);
    float sum[n] = {};
    for (std::int64_t i = readers.begin; i < readers.end; ++i) {
      for (std::int64_t j = across.begin; j < across.end; ++j) {
        const float share = window_weight(adaptive_window(i, e.size, e.height), adaptive_window(j, e.size, e.width));
        float values[n];
        load(dy + ((image * e.size + i) * e.size + j) * e.channels + at % e.channels, values);
#pragma unroll
        for (int k = 0; k < n; ++k) sum[k] += values[k] * share;
      }
    }
    store(dx + at, sum);
  }
}

/// Forward and backward differ only in the kernel. `images` is [N,H,W,C].
template <Direction direction>
class AdaptivePoolKernel final : public Kernel {
 public:
  AdaptivePoolKernel(const TensorDesc& images, std::int64_t size, Device& device)
      : device_(device),
        dtype_(images.dtype),
        extent_{images.shape[0], images.shape[1], images.shape[2], images.shape[3], size} {}

  void run(const KernelArgs& args) override {
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* from = static_cast<const T*>(args.inputs[0]);
      auto* to = static_cast<T*>(args.outputs[0]);
      if (extent_.channels % pack == 0) {
        pool<pack>(from, to);
      } else {
        pool<1>(from, to);
      }
    });
  }

 private:
  template <int n, typename T>
  void pool(const T* from, T* to) {
    const WindowsExtent& e = extent_;
    if constexpr (direction == Direction::forward) {
      const int blocks = grid_blocks(device_, e.images * e.size * e.size * e.channels / n);
      launch(adaptive_pool_kernel<n, T>, blocks, block_threads, device_, e, from, to);
    } else {
      const int blocks = grid_blocks(device_, e.images * e.height * e.width * e.channels / n);
      launch(adaptive_spread_kernel<n, T>, blocks, block_threads, device_, e, from, to);
    }
  }

  Device& device_;
  DType dtype_;
  WindowsExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_adaptive_avg_pool2d(const KernelContext& context, Device& device) {
  return std::make_unique<AdaptivePoolKernel<Direction::forward>>(
      context.inputs[0], context.op_as<AdaptiveAvgPool2d>().attrs().size, device);
}

std::unique_ptr<Kernel> make_adaptive_avg_pool2d_grad(const KernelContext& context, Device& device) {
  return std::make_unique<AdaptivePoolKernel<Direction::backward>>(
      context.outputs[0], context.op_as<AdaptiveAvgPool2dGrad>().attrs().pool.size, device);
}

}  // namespace ptrain::cuda

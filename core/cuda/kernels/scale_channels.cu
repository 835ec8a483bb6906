// Scales each channel of an image, and its gradient; each thread has a pack of channels.
#include "core/ops/image/scale_channels.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

struct ScaledExtent {
  std::int64_t images, pixels, channels;
  std::int64_t count() const { return images * pixels * channels; }
};

/// y may be x: each element is read before it is written, by the same thread.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    scale_channels_kernel(ScaledExtent e, const T* x, const T* factors, T* y) {
  const std::int64_t image = e.pixels * e.channels;
  for (std::int64_t at = grid_thread() * n; at < e.images * image; at += grid_threads() * n) {
    float values[n], factor[n];
    load(x + at, values);
    load(factors + at / image * e.channels + at % e.channels, factor);
#pragma unroll
    for (int k = 0; k < n; ++k) values[k] *= factor[k];
    store(y + at, values);
  }
}

/// dfactors = the sum of dy x over the pixels.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    factors_grad_kernel(ScaledExtent e, const T* dy, const T* x, T* dfactors) {
  const std::int64_t at = grid_thread() * n;
  if (at >= e.images * e.channels) return;
  const std::int64_t first = at / e.channels * e.pixels * e.channels + at % e.channels;
  float sum[n] = {};
  for (std::int64_t i = 0; i < e.pixels; ++i) {
    float g[n], values[n];
    load(dy + first + i * e.channels, g);
    load(x + first + i * e.channels, values);
#pragma unroll
    for (int k = 0; k < n; ++k) sum[k] += g[k] * values[k];
  }
  store(dfactors + at, sum);
}

/// Calls body(extent, pack as a constant, zero of the data's type) for data [N,H,W,C].
template <typename Body>
void visit_images(const TensorDesc& data, Body&& body) {
  const ScaledExtent extent{data.shape[0], data.shape[1] * data.shape[2], data.shape[3]};
  visit_floating(data.dtype, [&](auto zero) {
    if (extent.channels % pack == 0) {
      body(extent, std::integral_constant<int, pack>{}, zero);
    } else {
      body(extent, std::integral_constant<int, 1>{}, zero);
    }
  });
}

class ScaleChannelsKernel final : public Kernel {
 public:
  ScaleChannelsKernel(const TensorDesc& x, Device& device) : device_(device), x_(x) {}

  void run(const KernelArgs& args) override {
    visit_images(x_, [&](const ScaledExtent& extent, auto n, auto zero) {
      using T = decltype(zero);
      constexpr int packed = decltype(n)::value;
      launch(scale_channels_kernel<packed, T>, grid_blocks(device_, extent.count() / packed), block_threads, device_,
             extent, static_cast<const T*>(args.inputs[ScaleChannels::x]),
             static_cast<const T*>(args.inputs[ScaleChannels::factors]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc x_;
};

class ScaleChannelsGradKernel final : public Kernel {
 public:
  using Op = ScaleChannelsGrad;

  ScaleChannelsGradKernel(const TensorDesc& x, Device& device) : device_(device), x_(x) {}

  void run(const KernelArgs& args) override {
    visit_images(x_, [&](const ScaledExtent& extent, auto n, auto zero) {
      using T = decltype(zero);
      constexpr int packed = decltype(n)::value;
      const auto* dy = static_cast<const T*>(args.inputs[Op::dy]);
      // Runs before dx, which may overwrite dy.
      launch(factors_grad_kernel<packed, T>, blocks_for(extent.images * extent.channels / packed), block_threads,
             device_, extent, dy, static_cast<const T*>(args.inputs[Op::x]),
             static_cast<T*>(args.outputs[Op::dfactors]));
      launch(scale_channels_kernel<packed, T>, grid_blocks(device_, extent.count() / packed), block_threads, device_,
             extent, dy, static_cast<const T*>(args.inputs[Op::factors]), static_cast<T*>(args.outputs[Op::dx]));
    });
  }

 private:
  Device& device_;
  TensorDesc x_;
};

}  // namespace

std::unique_ptr<Kernel> make_scale_channels(const KernelContext& context, Device& device) {
  return std::make_unique<ScaleChannelsKernel>(context.inputs[ScaleChannels::x], device);
}

std::unique_ptr<Kernel> make_scale_channels_grad(const KernelContext& context, Device& device) {
  return std::make_unique<ScaleChannelsGradKernel>(context.inputs[ScaleChannelsGrad::x], device);
}

}  // namespace ptrain::cuda

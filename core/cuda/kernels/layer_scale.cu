// Scales each channel, and its gradient; dgamma's sums are in a fixed order.
#include "core/ops/normalization/layer_scale.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/channel_sums.cuh"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

/// y may be x: each element is read before it is written, by the same thread.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    layer_scale_kernel(std::int64_t count, std::int64_t channels, const T* x, const float* gamma, T* y) {
  for (std::int64_t at = grid_thread() * n; at < count; at += grid_threads() * n) {
    float values[n], factor[n];
    load(x + at, values);
    load(gamma + at % channels, factor);
#pragma unroll
    for (int k = 0; k < n; ++k) values[k] *= factor[k];
    store(y + at, values);
  }
}

/// Each channel's first sum is of dy x.
template <int n, typename T>
struct ProductTerm {
  const T *dy, *x;

  struct State {};
  __device__ State at(std::int64_t) const { return {}; }
  __device__ void add(const State&, std::int64_t at, float (&first)[n], float (&)[n]) const {
    float g[n], values[n];
    load(dy + at, g);
    load(x + at, values);
#pragma unroll
    for (int i = 0; i < n; ++i) first[i] += g[i] * values[i];
  }
};

struct KeepFirst {
  float* sums;
  __device__ void operator()(std::int64_t channel, double first, double) const {
    sums[channel] = static_cast<float>(first);
  }
};

class LayerScaleKernel final : public Kernel {
 public:
  LayerScaleKernel(const TensorDesc& x, Device& device) : device_(device), x_(x) {}

  void run(const KernelArgs& args) override {
    scale(args.inputs[LayerScale::x], args.inputs[LayerScale::gamma], args.outputs[0]);
  }

  /// y = x times gamma.
  void scale(const void* x, const void* gamma, void* y) const {
    const std::int64_t channels = x_.shape[-1];
    visit_row_pack(channels, x_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      launch(layer_scale_kernel<decltype(n)::value, T>, grid_blocks(device_, x_.count() / n), block_threads, device_,
             x_.count(), channels, static_cast<const T*>(x), static_cast<const float*>(gamma), static_cast<T*>(y));
    });
  }

 private:
  Device& device_;
  TensorDesc x_;
};

class LayerScaleGradKernel final : public Kernel {
 public:
  using Op = LayerScaleGrad;

  LayerScaleGradKernel(const TensorDesc& x, Device& device)
      : device_(device), x_(x), extent_(channel_extent(device, x)), forward_(x, device) {}

  std::size_t workspace_bytes() const override { return extent_.partial_bytes(); }

  void run(const KernelArgs& args) override {
    visit_row_pack(x_.shape[-1], [&](auto n) {
      visit_floating(x_.dtype, [&](auto zero) {
        using T = decltype(zero);
        constexpr int packed = decltype(n)::value;
        const ProductTerm<packed, T> term{static_cast<const T*>(args.inputs[Op::dy]),
                                          static_cast<const T*>(args.inputs[Op::x])};
        // Runs before dx, which may overwrite dy.
        launch_channel_sums<packed>(device_, extent_, term, static_cast<ChannelSums*>(args.workspace),
                                    KeepFirst{static_cast<float*>(args.outputs[Op::dgamma])});
      });
    });
    forward_.scale(args.inputs[Op::dy], args.inputs[Op::gamma], args.outputs[Op::dx]);
  }

 private:
  Device& device_;
  TensorDesc x_;
  ChannelExtent extent_;
  LayerScaleKernel forward_;
};

}  // namespace

std::unique_ptr<Kernel> make_layer_scale(const KernelContext& context, Device& device) {
  return std::make_unique<LayerScaleKernel>(context.inputs[LayerScale::x], device);
}
std::unique_ptr<Kernel> make_layer_scale_grad(const KernelContext& context, Device& device) {
  return std::make_unique<LayerScaleGradKernel>(context.inputs[LayerScaleGrad::x], device);
}

}  // namespace ptrain::cuda

// Average pooling: each thread takes a few channels of one output pixel through its window. In the gradient a thread
// gathers for one input pixel from the windows that contain it, so no atomics are needed.
#include "core/ops/image/avg_pool2d.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/pixels.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

/// x is [N,height,width,channels], y [N,out_height,out_width,channels].
struct AvgPoolGeometry : ImageExtents {
  int kernel, stride;

  AvgPoolGeometry(const AvgPool2dAttributes& pool, const Shape& x, const Shape& y)
      : ImageExtents(x, y), kernel(pool.kernel), stride(pool.stride) {}

  /// One past the last pixel in the window of output `out`.
  __device__ int end(int out, int size) const { return min(size, out * stride + kernel); }
  /// The first output whose window contains pixel `in`.
  __device__ int first(int in) const { return in < kernel ? 0 : (in - kernel) / stride + 1; }
};

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    avg_pool_kernel(AvgPoolGeometry g, std::int64_t items, const T* x, T* y) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const Pixel<n> out(item, g.out_height, g.out_width, g.channels);
    const int top = out.row * g.stride, left = out.column * g.stride;
    const int bottom = g.end(out.row, g.height), right = g.end(out.column, g.width);
    const T* image = x + out.image * g.height * g.width * g.channels + out.channel;
    float sums[n] = {};
    for (int h = top; h < bottom; ++h) {
      for (int w = left; w < right; ++w) {
        float values[n];
        load(image + (static_cast<std::int64_t>(h) * g.width + w) * g.channels, values);
#pragma unroll
        for (int i = 0; i < n; ++i) sums[i] += values[i];
      }
    }
    const float share = 1.0f / static_cast<float>((bottom - top) * (right - left));
#pragma unroll
    for (int i = 0; i < n; ++i) sums[i] *= share;
    store(y + item * n, sums);
  }
}

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    avg_pool_grad_kernel(AvgPoolGeometry g, std::int64_t items, const T* dy, T* dx) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const Pixel<n> in(item, g.height, g.width, g.channels);
    const T* image = dy + in.image * g.out_height * g.out_width * g.channels + in.channel;
    const int last_p = min(g.out_height - 1, in.row / g.stride), last_q = min(g.out_width - 1, in.column / g.stride);
    float sums[n] = {};
    for (int p = g.first(in.row); p <= last_p; ++p) {
      for (int q = g.first(in.column); q <= last_q; ++q) {
        const int pixels = (g.end(p, g.height) - p * g.stride) * (g.end(q, g.width) - q * g.stride);
        const float share = 1.0f / static_cast<float>(pixels);
        float values[n];
        load(image + (static_cast<std::int64_t>(p) * g.out_width + q) * g.channels, values);
#pragma unroll
        for (int i = 0; i < n; ++i) sums[i] += values[i] * share;
      }
    }
    store(dx + item * n, sums);
  }
}

class AvgPool2dKernel final : public Kernel {
 public:
  AvgPool2dKernel(const KernelContext& context, Device& device)
      : device_(device),
        y_(context.outputs[0]),
        geometry_(context.op_as<AvgPool2d>().attrs(), context.inputs[0].shape, y_.shape) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(geometry_.channels, y_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      const std::int64_t items = y_.count() / decltype(n)::value;
      launch(avg_pool_kernel<decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_, geometry_,
             items, static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc y_;
  AvgPoolGeometry geometry_;
};

class AvgPool2dGradKernel final : public Kernel {
 public:
  AvgPool2dGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        dx_(context.outputs[0]),
        geometry_(context.op_as<AvgPool2dGrad>().attrs().pool, dx_.shape, context.inputs[0].shape) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(geometry_.channels, dx_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      const std::int64_t items = dx_.count() / decltype(n)::value;
      launch(avg_pool_grad_kernel<decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_,
             geometry_, items, static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc dx_;
  AvgPoolGeometry geometry_;
};

}  // namespace

std::unique_ptr<Kernel> make_avg_pool2d(const KernelContext& context, Device& device) {
  return std::make_unique<AvgPool2dKernel>(context, device);
}
std::unique_ptr<Kernel> make_avg_pool2d_grad(const KernelContext& context, Device& device) {
  return std::make_unique<AvgPool2dGradKernel>(context, device);
}

}  // namespace ptrain::cuda

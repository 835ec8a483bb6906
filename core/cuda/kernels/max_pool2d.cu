// Maximum pooling: each thread takes a few channels of one output pixel through its window. In the gradient a thread
// gathers for one input pixel from the windows that contain it, so no atomics are needed.
#include "core/ops/image/max_pool2d.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/pixels.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

/// x is [N,height,width,channels], y [N,out_height,out_width,channels].
struct MaxPoolGeometry : ImageExtents {
  int kernel, stride, padding;

  MaxPoolGeometry(const MaxPool2dAttributes& pool, const Shape& x, const Shape& y)
      : ImageExtents(x, y), kernel(pool.kernel), stride(pool.stride), padding(pool.padding) {}
};

template <int n>
using Indices = Pack<std::uint8_t, n>;

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    max_pool_kernel(MaxPoolGeometry g, std::int64_t items, const T* x, T* y, std::uint8_t* argmax) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const Pixel<n> out(item, g.out_height, g.out_width, g.channels);
    const int top = out.row * g.stride - g.padding, left = out.column * g.stride - g.padding;
    const int first_row = max(0, -top), last_row = min(g.kernel, g.height - top);
    const int first_column = max(0, -left), last_column = min(g.kernel, g.width - left);
    const T* image = x + out.image * g.height * g.width * g.channels + out.channel;
    float best[n];
    Indices<n> where;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      best[i] = -__int_as_float(0x7f800000);
      where.values[i] = static_cast<std::uint8_t>(first_row * g.kernel + first_column);
    }
    for (int r = first_row; r < last_row; ++r) {
      for (int s = first_column; s < last_column; ++s) {
        float values[n];
        load(image + (static_cast<std::int64_t>(top + r) * g.width + left + s) * g.channels, values);
#pragma unroll
        for (int i = 0; i < n; ++i) {
          if (!(values[i] > best[i]) && !isnan(values[i])) continue;
          best[i] = values[i];
          where.values[i] = static_cast<std::uint8_t>(r * g.kernel + s);
        }
      }
    }
    store(y + item * n, best);
    *reinterpret_cast<Indices<n>*>(argmax + item * n) = where;
  }
}

/// Output positions whose window contains input position `in`: [first, last).
struct Holders {
  int first, last;
  __device__ Holders(int in, int outputs, const MaxPoolGeometry& g) {
    const int at = in + g.padding;
    first = at < g.kernel ? 0 : (at - g.kernel) / g.stride + 1;
    last = min(outputs, at / g.stride + 1);
  }
};

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    max_pool_grad_kernel(MaxPoolGeometry g, std::int64_t items, const T* dy, const std::uint8_t* argmax, T* dx) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const Pixel<n> in(item, g.height, g.width, g.channels);
    const Holders rows(in.row, g.out_height, g), columns(in.column, g.out_width, g);
    float sums[n] = {};
    for (int p = rows.first; p < rows.last; ++p) {
      for (int q = columns.first; q < columns.last; ++q) {
        const int mine = (in.row + g.padding - p * g.stride) * g.kernel + in.column + g.padding - q * g.stride;
        const std::int64_t at = ((in.image * g.out_height + p) * g.out_width + q) * g.channels + in.channel;
        const Indices<n> indices = *reinterpret_cast<const Indices<n>*>(argmax + at);
        float values[n];
        load(dy + at, values);
#pragma unroll
        for (int i = 0; i < n; ++i) sums[i] += indices.values[i] == mine ? values[i] : 0.0f;
      }
    }
    store(dx + item * n, sums);
  }
}

class MaxPool2dKernel final : public Kernel {
 public:
  MaxPool2dKernel(const KernelContext& context, Device& device)
      : device_(device),
        y_(context.outputs[0]),
        geometry_(context.op_as<MaxPool2d>().attrs(), context.inputs[0].shape, y_.shape) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(geometry_.channels, y_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      const std::int64_t items = y_.count() / decltype(n)::value;
      launch(max_pool_kernel<decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_, geometry_,
             items, static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]),
             static_cast<std::uint8_t*>(args.outputs[1]));
    });
  }

 private:
  Device& device_;
  TensorDesc y_;
  MaxPoolGeometry geometry_;
};

class MaxPool2dGradKernel final : public Kernel {
 public:
  MaxPool2dGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        dx_(context.outputs[0]),
        geometry_(context.op_as<MaxPool2dGrad>().attrs().pool, dx_.shape, context.inputs[0].shape) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(geometry_.channels, dx_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      const std::int64_t items = dx_.count() / decltype(n)::value;
      launch(max_pool_grad_kernel<decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_,
             geometry_, items, static_cast<const T*>(args.inputs[0]), static_cast<const std::uint8_t*>(args.inputs[1]),
             static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc dx_;
  MaxPoolGeometry geometry_;
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool2d(const KernelContext& context, Device& device) {
  return std::make_unique<MaxPool2dKernel>(context, device);
}
std::unique_ptr<Kernel> make_max_pool2d_grad(const KernelContext& context, Device& device) {
  return std::make_unique<MaxPool2dGradKernel>(context, device);
}

}  // namespace ptrain::cuda

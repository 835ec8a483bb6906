// Bilinear resizing and its gradient: a thread gathers a few channels of one pixel from its source pixels, so no
// atomics are needed.
#include "core/ops/image/resize_bilinear.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/pixels.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/bilinear.h"

namespace ptrain::cuda {
namespace {

struct ResizeGeometry {
  BilinearAxis rows, columns;
  int channels;

  ResizeGeometry(const Shape& x, const Shape& y, Corners corners)
      : rows(x[1], y[1], corners == Corners::aligned),
        columns(x[2], y[2], corners == Corners::aligned),
        channels(static_cast<int>(x[3])) {}
};

/// From x to y, by the pixels that each output reads.
struct ResizeForward {
  static __device__ int from_size(const BilinearAxis& axis) { return static_cast<int>(axis.in); }
  static __device__ int to_size(const BilinearAxis& axis) { return static_cast<int>(axis.out); }
  static __device__ BilinearAxis::Range sources(const BilinearAxis& axis, int to) { return axis.pixels(to); }
  static __device__ float share(const BilinearAxis& axis, int to, int from) { return axis.share(to, from); }
};

/// From dy to dx, by the outputs that read each pixel.
struct ResizeBackward {
  static __device__ int from_size(const BilinearAxis& axis) { return static_cast<int>(axis.out); }
  static __device__ int to_size(const BilinearAxis& axis) { return static_cast<int>(axis.in); }
  static __device__ BilinearAxis::Range sources(const BilinearAxis& axis, int to) { return axis.outputs(to); }
  static __device__ float share(const BilinearAxis& axis, int to, int from) { return axis.share(from, to); }
};

template <typename Way, int n, typename T>
__global__ void __launch_bounds__(block_threads)
    resize_bilinear_kernel(ResizeGeometry g, std::int64_t items, const T* from, T* to) {
  const int height = Way::from_size(g.rows), width = Way::from_size(g.columns);
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const Pixel<n> made(item, Way::to_size(g.rows), Way::to_size(g.columns), g.channels);
    const T* image = from + made.image * height * width * g.channels + made.channel;
    const BilinearAxis::Range rows = Way::sources(g.rows, made.row), columns = Way::sources(g.columns, made.column);
    float sums[n] = {};
    for (int h = static_cast<int>(rows.begin); h < static_cast<int>(rows.end); ++h) {
      const float down = Way::share(g.rows, made.row, h);
      for (int w = static_cast<int>(columns.begin); w < static_cast<int>(columns.end); ++w) {
        const float share = down * Way::share(g.columns, made.column, w);
        float values[n];
        load(image + (static_cast<std::int64_t>(h) * width + w) * g.channels, values);
#pragma unroll
        for (int i = 0; i < n; ++i) sums[i] += values[i] * share;
      }
    }
    store(to + item * n, sums);
  }
}

template <typename Way>
class ResizeBilinearKernel final : public Kernel {
 public:
  ResizeBilinearKernel(const KernelContext& context, Device& device, const ResizeGeometry& geometry)
      : device_(device), to_(context.outputs[0]), geometry_(geometry) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(geometry_.channels, to_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      const std::int64_t items = to_.count() / decltype(n)::value;
      launch(resize_bilinear_kernel<Way, decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_,
             geometry_, items, static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc to_;
  ResizeGeometry geometry_;
};

}  // namespace

std::unique_ptr<Kernel> make_resize_bilinear(const KernelContext& context, Device& device) {
  const ResizeGeometry geometry(context.inputs[0].shape, context.outputs[0].shape,
                                context.op_as<ResizeBilinear>().attrs().corners);
  return std::make_unique<ResizeBilinearKernel<ResizeForward>>(context, device, geometry);
}
std::unique_ptr<Kernel> make_resize_bilinear_grad(const KernelContext& context, Device& device) {
  const ResizeGeometry geometry(context.outputs[0].shape, context.inputs[0].shape,
                                context.op_as<ResizeBilinearGrad>().attrs().resize.corners);
  return std::make_unique<ResizeBilinearKernel<ResizeBackward>>(context, device, geometry);
}

}  // namespace ptrain::cuda

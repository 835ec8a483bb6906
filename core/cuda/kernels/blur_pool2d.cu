// Blur pooling and its gradient: a thread gathers a few channels of one pixel from its source pixels, so no atomics are
// needed.
#include "core/ops/image/blur_pool2d.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/pixels.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/blur_pool.h"

namespace ptrain::cuda {
namespace {

/// From the large image to the small one, by the pixels that each output reads.
struct Forward {
  static __device__ BlurRange sources(int to, int from_size, int) { return blurred_pixels(to, from_size); }
  static __device__ float share(int to, int from, int from_size, int) { return blur_share(to, from, from_size); }
};

/// From the small image to the large one, by the outputs that read each pixel.
struct Backward {
  static __device__ BlurRange sources(int to, int, int to_size) { return blurred_outputs(to, to_size); }
  static __device__ float share(int to, int from, int, int to_size) { return blur_share(from, to, to_size); }
};

template <typename Way, int n, typename T>
__global__ void __launch_bounds__(block_threads) blur_kernel(ImageExtents g, std::int64_t items, const T* x, T* y) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const Pixel<n> out(item, g.out_height, g.out_width, g.channels);
    const T* image = x + out.image * g.height * g.width * g.channels + out.channel;
    const BlurRange rows = Way::sources(out.row, g.height, g.out_height);
    const BlurRange columns = Way::sources(out.column, g.width, g.out_width);
    float sums[n] = {};
    for (int h = static_cast<int>(rows.begin); h < static_cast<int>(rows.end); ++h) {
      const float down = Way::share(out.row, h, g.height, g.out_height);
      for (int w = static_cast<int>(columns.begin); w < static_cast<int>(columns.end); ++w) {
        const float share = down * Way::share(out.column, w, g.width, g.out_width);
        float values[n];
        load(image + (static_cast<std::int64_t>(h) * g.width + w) * g.channels, values);
#pragma unroll
        for (int i = 0; i < n; ++i) sums[i] += values[i] * share;
      }
    }
    store(y + item * n, sums);
  }
}

template <typename Way>
class BlurKernel final : public Kernel {
 public:
  BlurKernel(const KernelContext& context, Device& device)
      : device_(device), to_(context.outputs[0]), geometry_(context.inputs[0].shape, to_.shape) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(geometry_.channels, to_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      const std::int64_t items = to_.count() / decltype(n)::value;
      launch(blur_kernel<Way, decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_, geometry_,
             items, static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc to_;
  ImageExtents geometry_;
};

}  // namespace

std::unique_ptr<Kernel> make_blur_pool2d(const KernelContext& context, Device& device) {
  return std::make_unique<BlurKernel<Forward>>(context, device);
}
std::unique_ptr<Kernel> make_blur_pool2d_grad(const KernelContext& context, Device& device) {
  return std::make_unique<BlurKernel<Backward>>(context, device);
}

}  // namespace ptrain::cuda

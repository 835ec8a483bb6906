// Blur pooling and its gradient: a pixel is a weighted sum of a few others, sixteen channels at a time; the same filter
// gives the weights in both directions.
#include "core/ops/image/blur_pool2d.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"
#include "core/ops/math/blur_pool.h"

#include <array>

namespace ptrain::cpu {
namespace {

/// Weights of the source pixels along one axis, from `begin` on.
struct Mixture {
  std::int64_t begin, count;
  std::array<float, 3> shares;
};

/// From the large image to the small one.
struct Forward {
  static Mixture mixture(std::int64_t to, std::int64_t from_size, std::int64_t) {
    return gathered(blurred_pixels(to, from_size), [&](std::int64_t from) { return blur_share(to, from, from_size); });
  }

  template <typename Share>
  static Mixture gathered(BlurRange range, const Share& share) {
    Mixture mixture{range.begin, range.end - range.begin, {}};
    for (std::int64_t i = 0; i < mixture.count; ++i)
      mixture.shares[static_cast<std::size_t>(i)] = share(range.begin + i);
    return mixture;
  }
};

/// From the small image to the large one.
struct Backward {
  static Mixture mixture(std::int64_t to, std::int64_t, std::int64_t to_size) {
    return Forward::gathered(blurred_outputs(to, to_size),
                             [&](std::int64_t from) { return blur_share(from, to, to_size); });
  }
};

template <typename Way>
class BlurKernel final : public Kernel {
 public:
  explicit BlurKernel(const KernelContext& context) : from_(context.inputs[0].shape), to_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(to_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(to_.shape[0] * to_.shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          make_row(static_cast<const T*>(args.inputs[0]), row, static_cast<T*>(args.outputs[0]));
        }
      });
    });
  }

 private:
  template <typename T>
  void make_row(const T* images, std::int64_t row, T* result) const {
    const std::int64_t width = from_[2], channels = from_[3], height = to_.shape[1], out_width = to_.shape[2];
    const Mixture rows = Way::mixture(row % height, from_[1], height);
    const T* first = images + (row / height * from_[1] + rows.begin) * width * channels;
    for (std::int64_t q = 0; q < out_width; ++q) {
      const Mixture columns = Way::mixture(q, width, out_width);
      for_channels(channels, [&](std::int64_t c, auto access) {
        f32x16 sum{};
        for (std::int64_t h = 0; h < rows.count; ++h) {
          const T* pixel = first + (h * width + columns.begin) * channels + c;
          for (std::int64_t w = 0; w < columns.count; ++w, pixel += channels) {
            sum += access.load(pixel) *
                   (rows.shares[static_cast<std::size_t>(h)] * columns.shares[static_cast<std::size_t>(w)]);
          }
        }
        access.store(result + (row * out_width + q) * channels + c, sum);
      });
    }
  }

  Shape from_;
  TensorDesc to_;
};

}  // namespace

std::unique_ptr<Kernel> make_blur_pool2d(const KernelContext& context) {
  return std::make_unique<BlurKernel<Forward>>(context);
}

std::unique_ptr<Kernel> make_blur_pool2d_grad(const KernelContext& context) {
  return std::make_unique<BlurKernel<Backward>>(context);
}

}  // namespace ptrain::cpu

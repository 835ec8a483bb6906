// Bilinear resizing and its gradient. A row of the result is made in two passes: source rows are mixed into one row of
// floats, and each pixel of the result mixes a few pixels of that. The gradient only has other tables of shares.
#include "core/ops/image/resize_bilinear.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"
#include "core/ops/math/bilinear.h"

#include <vector>

namespace ptrain::cpu {
namespace {

/// For each pixel of the result along one axis, the shares of source pixels.
class Mixtures {
 public:
  struct Mixture {
    std::int64_t begin, count;
    const float* shares;
  };

  static Mixtures forward(const BilinearAxis& axis) {
    Mixtures all;
    for (std::int64_t to = 0; to < axis.out; ++to) {
      all.add(axis.pixels(to), [&](std::int64_t from) { return axis.share(to, from); });
    }
    return all;
  }
  static Mixtures backward(const BilinearAxis& axis) {
    Mixtures all;
    for (std::int64_t to = 0; to < axis.in; ++to) {
      all.add(axis.outputs(to), [&](std::int64_t from) { return axis.share(from, to); });
    }
    return all;
  }

  Mixture operator[](std::int64_t to) const {
    const auto i = static_cast<std::size_t>(to);
    return {begins_[i], ends_[i + 1] - ends_[i], shares_.data() + ends_[i]};
  }

 private:
  template <typename Share>
  void add(BilinearAxis::Range from, const Share& share) {
    begins_.push_back(from.begin);
    for (std::int64_t i = from.begin; i < from.end; ++i) shares_.push_back(share(i));
    ends_.push_back(static_cast<std::int64_t>(shares_.size()));
  }

  std::vector<std::int64_t> begins_, ends_{0};
  std::vector<float> shares_;
};

class MixingKernel final : public Kernel {
 public:
  MixingKernel(const KernelContext& context, Mixtures rows, Mixtures columns)
      : from_(context.inputs[0].shape),
        to_(context.outputs[0]),
        rows_(std::move(rows)),
        columns_(std::move(columns)),
        parts_(thread_count()) {}

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(parts_ * row_size()) * sizeof(float); }

  void run(const KernelArgs& args) override {
    const std::int64_t rows = to_.shape[0] * to_.shape[1];
    visit_floating(to_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(parts_, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t part = first; part < last; ++part) {
          float* const mixed = static_cast<float*>(args.workspace) + part * row_size();
          for (std::int64_t row = rows * part / parts_; row < rows * (part + 1) / parts_; ++row) {
            mix_rows(static_cast<const T*>(args.inputs[0]), row, mixed);
            mix_pixels(mixed, static_cast<T*>(args.outputs[0]) + row * to_.shape[2] * to_.shape[3]);
          }
        }
      });
    });
  }

 private:
  std::int64_t row_size() const { return from_[2] * from_[3]; }

  template <typename T>
  void mix_rows(const T* images, std::int64_t row, float* mixed) const {
    const std::int64_t height = to_.shape[1], size = row_size();
    const Mixtures::Mixture mixture = rows_[row % height];
    const T* first = images + (row / height * from_[1] + mixture.begin) * size;
    for_channels(size, [&](std::int64_t i, auto access) {
      f32x16 sum{};
      for (std::int64_t h = 0; h < mixture.count; ++h) sum += access.load(first + h * size + i) * mixture.shares[h];
      access.store(mixed + i, sum);
    });
  }

  template <typename T>
  void mix_pixels(const float* mixed, T* result) const {
    const std::int64_t width = to_.shape[2], channels = to_.shape[3];
    for (std::int64_t q = 0; q < width; ++q) {
      const Mixtures::Mixture mixture = columns_[q];
      for_channels(channels, [&](std::int64_t c, auto access) {
        const float* pixel = mixed + mixture.begin * channels + c;
        f32x16 sum{};
        for (std::int64_t w = 0; w < mixture.count; ++w) sum += access.load(pixel + w * channels) * mixture.shares[w];
        access.store(result + q * channels + c, sum);
      });
    }
  }

  Shape from_;
  TensorDesc to_;
  Mixtures rows_, columns_;
  std::int64_t parts_;
};

}  // namespace

std::unique_ptr<Kernel> make_resize_bilinear(const KernelContext& context) {
  const Shape &x = context.inputs[0].shape, &y = context.outputs[0].shape;
  const bool aligned = context.op_as<ResizeBilinear>().attrs().corners == Corners::aligned;
  return std::make_unique<MixingKernel>(context, Mixtures::forward({x[1], y[1], aligned}),
                                        Mixtures::forward({x[2], y[2], aligned}));
}

std::unique_ptr<Kernel> make_resize_bilinear_grad(const KernelContext& context) {
  const Shape &dy = context.inputs[0].shape, &dx = context.outputs[0].shape;
  const bool aligned = context.op_as<ResizeBilinearGrad>().attrs().resize.corners == Corners::aligned;
  return std::make_unique<MixingKernel>(context, Mixtures::backward({dx[1], dy[1], aligned}),
                                        Mixtures::backward({dx[2], dy[2], aligned}));
}

}  // namespace ptrain::cpu

// Adaptive average pooling and its gradient; a row of windows or pixels at a time.
#include "core/ops/image/adaptive_avg_pool2d.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"
#include "core/ops/math/adaptive_pool.h"

namespace ptrain::cpu {
namespace {

float window_weight(const AdaptiveWindow& rows, const AdaptiveWindow& columns) {
  return 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
}

class AdaptiveAvgPool2dKernel final : public Kernel {
 public:
  explicit AdaptiveAvgPool2dKernel(const KernelContext& context)
      : size_(context.op_as<AdaptiveAvgPool2d>().attrs().size), x_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(x_.shape[0] * size_, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          pool_row(static_cast<const T*>(args.inputs[0]), row, static_cast<T*>(args.outputs[0]));
        }
      });
    });
  }

 private:
  template <typename T>
  void pool_row(const T* images, std::int64_t row, T* y) const {
    const std::int64_t width = x_.shape[2], channels = x_.shape[3];
    const T* x = images + row / size_ * x_.shape[1] * width * channels;
    const AdaptiveWindow rows = adaptive_window(row % size_, size_, x_.shape[1]);
    for (std::int64_t j = 0; j < size_; ++j) {
      const AdaptiveWindow columns = adaptive_window(j, size_, width);
      const float share = window_weight(rows, columns);
      for_channels(channels, [&](std::int64_t c, auto access) {
        f32x16 sum{};
        for (std::int64_t h = rows.begin; h < rows.end; ++h) {
          for (std::int64_t w = columns.begin; w < columns.end; ++w)
            sum += access.load(x + (h * width + w) * channels + c);
        }
        access.store(y + (row * size_ + j) * channels + c, sum * share);
      });
    }
  }

  std::int64_t size_;
  TensorDesc x_;
};

class AdaptiveAvgPool2dGradKernel final : public Kernel {
 public:
  explicit AdaptiveAvgPool2dGradKernel(const KernelContext& context)
      : size_(context.op_as<AdaptiveAvgPool2dGrad>().attrs().pool.size), dx_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(dx_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(dx_.shape[0] * dx_.shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          spread_row(static_cast<const T*>(args.inputs[0]), row, static_cast<T*>(args.outputs[0]));
        }
      });
    });
  }

 private:
  /// Each pixel receives its share of every window that reads it.
  template <typename T>
  void spread_row(const T* gradients, std::int64_t row, T* dx) const {
    const std::int64_t height = dx_.shape[1], width = dx_.shape[2], channels = dx_.shape[3];
    const T* dy = gradients + row / height * size_ * size_ * channels;
    const AdaptiveWindow readers = adaptive_window(row % height, height, size_);
    for (std::int64_t w = 0; w < width; ++w) {
      const AdaptiveWindow across = adaptive_window(w, width, size_);
      for_channels(channels, [&](std::int64_t c, auto access) {
        f32x16 sum{};
        for (std::int64_t i = readers.begin; i < readers.end; ++i) {
          for (std::int64_t j = across.begin; j < across.end; ++j) {
            const float share = window_weight(adaptive_window(i, size_, height), adaptive_window(j, size_, width));
            sum += access.load(dy + (i * size_ + j) * channels + c) * share;
          }
        }
        access.store(dx + (row * width + w) * channels + c, sum);
      });
    }
  }

  std::int64_t size_;
  TensorDesc dx_;
};

}  // namespace

std::unique_ptr<Kernel> make_adaptive_avg_pool2d(const KernelContext& context) {
  return std::make_unique<AdaptiveAvgPool2dKernel>(context);
}

std::unique_ptr<Kernel> make_adaptive_avg_pool2d_grad(const KernelContext& context) {
  return std::make_unique<AdaptiveAvgPool2dGradKernel>(context);
}

}  // namespace ptrain::cpu

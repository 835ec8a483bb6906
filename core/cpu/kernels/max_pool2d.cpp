// Maximum pooling: each output pixel takes sixteen channels at a time through its window, in rows of output pixels.
#include "core/ops/image/max_pool2d.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

#include <limits>

namespace ptrain::cpu {
namespace {

/// The part [first, last) of a window at `start` that lies inside [0, size), in window coordinates.
struct Window {
  std::int64_t start, first, last;
  Window(std::int64_t out, std::int64_t size, const MaxPool2dAttributes& pool)
      : start(out * pool.stride - pool.padding),
        first(std::max<std::int64_t>(0, -start)),
        last(std::min<std::int64_t>(pool.kernel, size - start)) {}
};

/// For 8-bit integers, which compare as the real values that they represent.
template <typename T>
class Int8MaxPool2dKernel final : public Kernel {
 public:
  explicit Int8MaxPool2dKernel(const KernelContext& context)
      : pool_(context.op_as<MaxPool2d>().attrs()), x_(context.inputs[0].shape), y_(context.outputs[0].shape) {}

  void run(const KernelArgs& args) override {
    const auto* x = static_cast<const T*>(args.inputs[0]);
    auto* y = static_cast<T*>(args.outputs[0]);
    const std::int64_t row = y_[2] * y_[3];
    parallel_for(y_[0] * y_[1], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* image = x + i / y_[1] * x_[1] * x_[2] * x_[3];
        for (std::int64_t q = 0; q < y_[2]; ++q) pool_pixel(image, i % y_[1], q, y + i * row + q * y_[3]);
      }
    });
  }

 private:
  void pool_pixel(const T* image, std::int64_t p, std::int64_t q, T* y) const {
    const Window rows(p, x_[1], pool_), columns(q, x_[2], pool_);
    std::fill_n(y, x_[3], std::numeric_limits<T>::min());
    for (std::int64_t r = rows.first; r < rows.last; ++r) {
      for (std::int64_t s = columns.first; s < columns.last; ++s) {
        const T* from = image + ((rows.start + r) * x_[2] + columns.start + s) * x_[3];
#pragma omp simd
        for (std::int64_t c = 0; c < x_[3]; ++c) y[c] = std::max(y[c], from[c]);
      }
    }
  }

  MaxPool2dAttributes pool_;
  Shape x_, y_;
};

class MaxPool2dKernel final : public Kernel {
 public:
  explicit MaxPool2dKernel(const KernelContext& context)
      : pool_(context.op_as<MaxPool2d>().attrs()), x_(context.inputs[0]), y_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[0]);
      auto* y = static_cast<T*>(args.outputs[0]);
      auto* argmax = static_cast<std::uint8_t*>(args.outputs[1]);
      const std::int64_t channels = x_.shape[3], row = y_.shape[2] * channels;
      parallel_for(y_.shape[0] * y_.shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const Window rows(i % y_.shape[1], x_.shape[1], pool_);
          const T* image = x + i / y_.shape[1] * x_.shape[1] * x_.shape[2] * channels;
          for (std::int64_t q = 0; q < y_.shape[2]; ++q) {
            pool_pixel(image, rows, Window(q, x_.shape[2], pool_), y + i * row + q * channels,
                       argmax + i * row + q * channels);
          }
        }
      });
    });
  }

 private:
  template <typename T>
  void pool_pixel(const T* image, const Window& rows, const Window& columns, T* y, std::uint8_t* argmax) const {
    const std::int64_t channels = x_.shape[3];
    for_channels(channels, [&](std::int64_t c, auto access) {
      f32x16 best = splat(-__builtin_inff());
      f32x16 where = splat(static_cast<float>(rows.first * pool_.kernel + columns.first));
      const auto better = [](auto a, auto b, auto new_value, auto old) {
        return ((a > b) | (a != a)) ? new_value : old;
      };
      for (std::int64_t r = rows.first; r < rows.last; ++r) {
        const T* line = image + ((rows.start + r) * x_.shape[2] + columns.start) * channels + c;
        f32x16 tap = splat(static_cast<float>(r * pool_.kernel + columns.first));
        for (std::int64_t s = columns.first; s < columns.last; ++s, tap += 1.0f) {
          const f32x16 v = access.load(line + s * channels);
          where = by_registers(better, v, best, tap, where);
          best = by_registers(better, v, best, v, best);
        }
      }
      access.store(y + c, best);
      access.store(argmax + c, where);
    });
  }

  MaxPool2dAttributes pool_;
  TensorDesc x_, y_;
};

/// Each input pixel gathers from the windows that contain it, so threads never write the same place.
class MaxPool2dGradKernel final : public Kernel {
 public:
  explicit MaxPool2dGradKernel(const KernelContext& context)
      : pool_(context.op_as<MaxPool2dGrad>().attrs().pool), dy_(context.inputs[0]), dx_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(dy_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* dy = static_cast<const T*>(args.inputs[0]);
      const auto* argmax = static_cast<const std::uint8_t*>(args.inputs[1]);
      auto* dx = static_cast<T*>(args.outputs[0]);
      const std::int64_t row = dx_.shape[2] * dx_.shape[3], image = dy_.shape[1] * dy_.shape[2] * dy_.shape[3];
      parallel_for(dx_.shape[0] * dx_.shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t n = i / dx_.shape[1];
          for (std::int64_t w = 0; w < dx_.shape[2]; ++w) {
            gather_pixel(dy + n * image, argmax + n * image, i % dx_.shape[1], w, dx + i * row + w * dx_.shape[3]);
          }
        }
      });
    });
  }

 private:
  /// Output positions whose window contains input position `in`: [first, last).
  struct Holders {
    std::int64_t first, last;
    Holders(std::int64_t in, std::int64_t outputs, const MaxPool2dAttributes& pool) {
      const std::int64_t at = in + pool.padding;
      first = at < pool.kernel ? 0 : (at - pool.kernel) / pool.stride + 1;
      last = std::min(outputs, at / pool.stride + 1);
    }
  };

  template <typename T>
  void gather_pixel(const T* dy, const std::uint8_t* argmax, std::int64_t h, std::int64_t w, T* dx) const {
    const std::int64_t channels = dx_.shape[3];
    const Holders rows(h, dy_.shape[1], pool_), columns(w, dy_.shape[2], pool_);
    for_channels(channels, [&](std::int64_t c, auto access) {
      f32x16 sum{};
      for (std::int64_t p = rows.first; p < rows.last; ++p) {
        for (std::int64_t q = columns.first; q < columns.last; ++q) {
          const std::int64_t r = h + pool_.padding - p * pool_.stride, s = w + pool_.padding - q * pool_.stride;
          const std::int64_t at = (p * dy_.shape[2] + q) * channels + c;
          sum += by_registers([tap = static_cast<float>(r * pool_.kernel + s)](
                                  auto from, auto d) { return from == tap ? d : decltype(d){}; },
                              access.load(argmax + at), access.load(dy + at));
        }
      }
      access.store(dx + c, sum);
    });
  }

  MaxPool2dAttributes pool_;
  TensorDesc dy_, dx_;
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool2d(const KernelContext& context) {
  if (context.inputs[0].dtype == DType::u8) return std::make_unique<Int8MaxPool2dKernel<std::uint8_t>>(context);
  if (context.inputs[0].dtype == DType::s8) return std::make_unique<Int8MaxPool2dKernel<std::int8_t>>(context);
  return std::make_unique<MaxPool2dKernel>(context);
}

std::unique_ptr<Kernel> make_max_pool2d_grad(const KernelContext& context) {
  return std::make_unique<MaxPool2dGradKernel>(context);
}

}  // namespace ptrain::cpu

// Average pooling: each output pixel takes sixteen channels at a time through its window, in rows of output pixels. In
// the gradient each input pixel gathers from the windows that contain it, so threads never write the same place.
#include "core/ops/image/avg_pool2d.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

namespace ptrain::cpu {
namespace {

struct Range {
  std::int64_t first, last;  // `last` is exclusive
  std::int64_t count() const { return last - first; }
};

/// The pixels in the window of output `out`.
Range window(std::int64_t out, std::int64_t size, const AvgPool2dAttributes& pool) {
  return {out * pool.stride, std::min<std::int64_t>(size, out * pool.stride + pool.kernel)};
}

/// The outputs whose windows contain pixel `in`.
Range holders(std::int64_t in, std::int64_t outputs, const AvgPool2dAttributes& pool) {
  return {in < pool.kernel ? 0 : (in - pool.kernel) / pool.stride + 1, std::min(outputs, in / pool.stride + 1)};
}

class AvgPool2dKernel final : public Kernel {
 public:
  explicit AvgPool2dKernel(const KernelContext& context)
      : pool_(context.op_as<AvgPool2d>().attrs()), x_(context.inputs[0]), y_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const std::int64_t height = x_.shape[1], width = x_.shape[2], channels = x_.shape[3];
      const std::int64_t out_height = y_.shape[1], out_width = y_.shape[2];
      parallel_for(y_.shape[0] * out_height, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const Range rows = window(i % out_height, height, pool_);
          const T* image = static_cast<const T*>(args.inputs[0]) + i / out_height * height * width * channels;
          for (std::int64_t q = 0; q < out_width; ++q) {
            const Range columns = window(q, width, pool_);
            const float share = 1.0f / static_cast<float>(rows.count() * columns.count());
            T* y = static_cast<T*>(args.outputs[0]) + (i * out_width + q) * channels;
            for_channels(channels, [&](std::int64_t c, auto access) {
              f32x16 sum{};
              for (std::int64_t h = rows.first; h < rows.last; ++h) {
                for (std::int64_t w = columns.first; w < columns.last; ++w) {
                  sum += access.load(image + (h * width + w) * channels + c);
                }
              }
              access.store(y + c, sum * share);
            });
          }
        }
      });
    });
  }

 private:
  AvgPool2dAttributes pool_;
  TensorDesc x_, y_;
};

class AvgPool2dGradKernel final : public Kernel {
 public:
  explicit AvgPool2dGradKernel(const KernelContext& context)
      : pool_(context.op_as<AvgPool2dGrad>().attrs().pool), dy_(context.inputs[0]), dx_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(dy_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const std::int64_t height = dx_.shape[1], width = dx_.shape[2], channels = dx_.shape[3];
      const std::int64_t out_height = dy_.shape[1], out_width = dy_.shape[2];
      parallel_for(dx_.shape[0] * height, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T* dy = static_cast<const T*>(args.inputs[0]) + i / height * out_height * out_width * channels;
          const Range rows = holders(i % height, out_height, pool_);
          for (std::int64_t w = 0; w < width; ++w) {
            const Range columns = holders(w, out_width, pool_);
            T* dx = static_cast<T*>(args.outputs[0]) + (i * width + w) * channels;
            for_channels(channels, [&](std::int64_t c, auto access) {
              f32x16 sum{};
              for (std::int64_t p = rows.first; p < rows.last; ++p) {
                for (std::int64_t q = columns.first; q < columns.last; ++q) {
                  const auto pixels = window(p, height, pool_).count() * window(q, width, pool_).count();
                  sum += access.load(dy + (p * out_width + q) * channels + c) * (1.0f / static_cast<float>(pixels));
                }
              }
              access.store(dx + c, sum);
            });
          }
        }
      });
    });
  }

 private:
  AvgPool2dAttributes pool_;
  TensorDesc dy_, dx_;
};

}  // namespace

std::unique_ptr<Kernel> make_avg_pool2d(const KernelContext& context) {
  return std::make_unique<AvgPool2dKernel>(context);
}

std::unique_ptr<Kernel> make_avg_pool2d_grad(const KernelContext& context) {
  return std::make_unique<AvgPool2dGradKernel>(context);
}

}  // namespace ptrain::cpu

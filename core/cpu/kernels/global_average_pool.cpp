// Global average pooling of each channel, and its gradient; one sample, of one image or several, at a time.
#include "core/ops/image/global_average_pool.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

namespace ptrain::cpu {
namespace {

class GlobalAveragePoolKernel final : public Kernel {
 public:
  explicit GlobalAveragePoolKernel(const KernelContext& context) : x_(context.inputs[0]), y_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t pixels = x_.count() / y_.count(), channels = x_.shape[3];
    const float share = 1.0f / static_cast<float>(pixels);
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(y_.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          const T* x = static_cast<const T*>(args.inputs[0]) + n * pixels * channels;
          T* y = static_cast<T*>(args.outputs[0]) + n * channels;
          for_channels(channels, [&](std::int64_t c, auto access) {
            f32x16 sum{};
            for (std::int64_t i = 0; i < pixels; ++i) sum += access.load(x + i * channels + c);
            access.store(y + c, sum * share);
          });
        }
      });
    });
  }

 private:
  TensorDesc x_, y_;
};

class GlobalAveragePoolGradKernel final : public Kernel {
 public:
  explicit GlobalAveragePoolGradKernel(const KernelContext& context)
      : dy_(context.inputs[0]), dx_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t pixels = dx_.count() / dy_.count(), channels = dx_.shape[3];
    const float share = 1.0f / static_cast<float>(pixels);
    visit_floating(dx_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(dy_.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          const T* dy = static_cast<const T*>(args.inputs[0]) + n * channels;
          T* dx = static_cast<T*>(args.outputs[0]) + n * pixels * channels;
          for (std::int64_t i = 0; i < pixels; ++i) {
            for_channels(channels, [&](std::int64_t c, auto access) {
              access.store(dx + i * channels + c, access.load(dy + c) * share);
            });
          }
        }
      });
    });
  }

 private:
  TensorDesc dy_, dx_;
};

}  // namespace

std::unique_ptr<Kernel> make_global_average_pool(const KernelContext& context) {
  return std::make_unique<GlobalAveragePoolKernel>(context);
}

std::unique_ptr<Kernel> make_global_average_pool_grad(const KernelContext& context) {
  return std::make_unique<GlobalAveragePoolGradKernel>(context);
}

}  // namespace ptrain::cpu

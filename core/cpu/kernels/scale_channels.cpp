// Scales each channel of an image, and its gradient; one image at a time.
#include "core/ops/image/scale_channels.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

namespace ptrain::cpu {
namespace {

class ScaleChannelsKernel final : public Kernel {
 public:
  explicit ScaleChannelsKernel(const KernelContext& context) : x_(context.inputs[ScaleChannels::x]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t pixels = x_.shape[1] * x_.shape[2], channels = x_.shape[3];
    constexpr std::int64_t grain = 1 << 13;  // elements
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[ScaleChannels::x]);
      const auto* factors = static_cast<const T*>(args.inputs[ScaleChannels::factors]);
      auto* y = static_cast<T*>(args.outputs[0]);
      parallel_for(x_.shape[0] * pixels, std::max<std::int64_t>(1, grain / channels),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t pixel = begin; pixel < end; ++pixel) {
                       const T* factor = factors + pixel / pixels * channels;
                       const std::int64_t at = pixel * channels;
                       for_channels(channels, [&](std::int64_t c, auto access) {
                         access.store(y + at + c, access.load(x + at + c) * access.load(factor + c));
                       });
                     }
                   });
    });
  }

 private:
  TensorDesc x_;
};

class ScaleChannelsGradKernel final : public Kernel {
 public:
  using Op = ScaleChannelsGrad;

  explicit ScaleChannelsGradKernel(const KernelContext& context) : x_(context.inputs[Op::x]) {}

  void run(const KernelArgs& args) override {
    visit_floating(x_.dtype, [&](auto zero) {
      parallel_for(x_.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) run_image<decltype(zero)>(args, n);
      });
    });
  }

 private:
  template <typename T>
  void run_image(const KernelArgs& args, std::int64_t n) const {
    const std::int64_t pixels = x_.shape[1] * x_.shape[2], channels = x_.shape[3], image = n * pixels * channels;
    const T* dy = static_cast<const T*>(args.inputs[Op::dy]) + image;
    const T* x = static_cast<const T*>(args.inputs[Op::x]) + image;
    const T* factors = static_cast<const T*>(args.inputs[Op::factors]) + n * channels;
    T* dx = static_cast<T*>(args.outputs[Op::dx]) + image;
    T* dfactors = static_cast<T*>(args.outputs[Op::dfactors]) + n * channels;
    for_channels(channels, [&](std::int64_t c, auto access) {
      const f32x16 factor = access.load(factors + c);
      f32x16 sum{};
      for (std::int64_t at = c; at < pixels * channels; at += channels) {
        const f32x16 g = access.load(dy + at);
        sum += g * access.load(x + at);
        access.store(dx + at, g * factor);
      }
      access.store(dfactors + c, sum);
    });
  }

  TensorDesc x_;
};

}  // namespace

std::unique_ptr<Kernel> make_scale_channels(const KernelContext& context) {
  return std::make_unique<ScaleChannelsKernel>(context);
}

std::unique_ptr<Kernel> make_scale_channels_grad(const KernelContext& context) {
  return std::make_unique<ScaleChannelsGradKernel>(context);
}

}  // namespace ptrain::cpu

#include "core/ops/normalization/rms_norm.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/layer_norm/layer_norm_rows.h"

namespace ptrain::cpu {
namespace {

class RmsNormKernel final : public Kernel {
  using Op = RmsNorm;

 public:
  explicit RmsNormKernel(const KernelContext& context)
      : x_(context.inputs[Op::x]),
        width_(context.inputs[Op::gamma].shape[0]),
        epsilon_(context.op_as<RmsNorm>().epsilon()) {}

  void run(const KernelArgs& args) override {
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    auto* rstd = static_cast<float*>(args.outputs[1]);
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* all_x = static_cast<const T*>(args.inputs[Op::x]);
      auto* all_y = static_cast<T*>(args.outputs[0]);
      parallel_for(x_.count() / width_, row_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const T* x = all_x + r * width_;
          T* y = all_y + r * width_;
          f32x16 squares{};
          for_channels(width_, [&](std::int64_t c, auto access) {
            const f32x16 v = access.load(x + c);
            squares += v * v;
          });
          const float scale = 1.0f / std::sqrt(total(squares) / static_cast<float>(width_) + epsilon_);
          for_channels(width_, [&](std::int64_t c, auto access) {
            access.store(y + c, access.load(x + c) * scale * access.load(gamma + c));
          });
          rstd[r] = scale;
        }
      });
    });
  }

 private:
  TensorDesc x_;
  std::int64_t width_;
  float epsilon_;
};

class RmsNormGradKernel final : public Kernel {
  using Op = RmsNormGrad;

 public:
  explicit RmsNormGradKernel(const KernelContext& context)
      : dy_dtype_(context.inputs[Op::dy].dtype),
        x_(context.inputs[Op::x]),
        width_(context.inputs[Op::gamma].shape[0]),
        partial_(width_) {}

  std::size_t workspace_bytes() const override { return partial_.bytes(); }

  void run(const KernelArgs& args) override {
    visit_floating(dy_dtype_, [&](auto dy_zero) {
      visit_floating(x_.dtype, [&](auto zero) {
        run_as(static_cast<const decltype(dy_zero)*>(args.inputs[Op::dy]),
               static_cast<const decltype(zero)*>(args.inputs[Op::x]), static_cast<decltype(zero)*>(args.outputs[0]),
               args);
      });
    });
    partial_.reduce(static_cast<const float*>(args.workspace), static_cast<float*>(args.outputs[1]), nullptr);
  }

 private:
  template <typename D, typename T>
  void run_as(const D* all_dy, const T* all_x, T* all_dx, const KernelArgs& args) const {
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* rstd = static_cast<const float*>(args.inputs[Op::rstd]);
    partial_.for_parts(x_.count() / width_, static_cast<float*>(args.workspace),
                       [&](std::int64_t r, float* dgamma, float*) {
                         const D* dy = all_dy + r * width_;
                         const T* x = all_x + r * width_;
                         T* dx = all_dx + r * width_;
                         const float scale = rstd[r];
                         f32x16 projected{};
                         for_channels(width_, [&](std::int64_t c, auto access) {
                           const f32x16 d = access.load(dy + c), normal = access.load(x + c) * scale;
                           access.store(dgamma + c, access.load(dgamma + c) + d * normal);
                           projected += d * access.load(gamma + c) * normal;
                         });
                         const float mean = total(projected) / static_cast<float>(width_);
                         for_channels(width_, [&](std::int64_t c, auto access) {
                           const f32x16 normal = access.load(x + c) * scale;
                           const f32x16 scaled = access.load(dy + c) * access.load(gamma + c);
                           access.store(dx + c, scale * (scaled - normal * mean));
                         });
                       });
  }

  DType dy_dtype_;
  TensorDesc x_;
  std::int64_t width_;
  ChannelPartials partial_;
};

}  // namespace

std::unique_ptr<Kernel> make_rms_norm(const KernelContext& context) { return std::make_unique<RmsNormKernel>(context); }
std::unique_ptr<Kernel> make_rms_norm_grad(const KernelContext& context) {
  return std::make_unique<RmsNormGradKernel>(context);
}

}  // namespace ptrain::cpu

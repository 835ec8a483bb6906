// layer_norm and dropout_add_layer_norm share their row arithmetic in layer_norm_rows.h.
#include "core/ops/normalization/layer_norm.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/layer_norm/layer_norm_rows.h"

namespace ptrain::cpu {
namespace {

class LayerNormKernel final : public Kernel {
  using Op = LayerNorm;

 public:
  explicit LayerNormKernel(const KernelContext& context)
      : x_(context.inputs[Op::x]), epsilon_(context.op_as<LayerNorm>().epsilon()) {}

  void run(const KernelArgs& args) override {
    const std::int64_t width = x_.shape[-1];
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* beta = static_cast<const float*>(args.inputs[Op::beta]);
    auto* mean = static_cast<float*>(args.outputs[1]);
    auto* rstd = static_cast<float*>(args.outputs[2]);
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[Op::x]);
      auto* y = static_cast<T*>(args.outputs[0]);
      parallel_for(x_.count() / width, row_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const RowStatistics s = row_statistics(x + r * width, width, epsilon_);
          normalise_row(x + r * width, s, gamma, beta, width, y + r * width);
          mean[r] = s.mean;
          rstd[r] = s.rstd;
        }
      });
    });
  }

 private:
  TensorDesc x_;
  float epsilon_;
};

class LayerNormGradKernel final : public Kernel {
  using Op = LayerNormGrad;

 public:
  explicit LayerNormGradKernel(const KernelContext& context)
      : dy_dtype_(context.inputs[Op::dy].dtype), x_(context.inputs[Op::x]), partial_(x_.shape[-1]) {}

  std::size_t workspace_bytes() const override { return partial_.bytes(); }

  void run(const KernelArgs& args) override {
    const std::int64_t width = x_.shape[-1];
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* mean = static_cast<const float*>(args.inputs[Op::mean]);
    const auto* rstd = static_cast<const float*>(args.inputs[Op::rstd]);
    auto* partials = static_cast<float*>(args.workspace);
    visit_floating(dy_dtype_, [&](auto dy_zero) {
      visit_floating(x_.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto* dy = static_cast<const decltype(dy_zero)*>(args.inputs[Op::dy]);
        const auto* x = static_cast<const T*>(args.inputs[Op::x]);
        auto* dx = static_cast<T*>(args.outputs[0]);
        partial_.for_parts(x_.count() / width, partials, [&](std::int64_t r, float* dgamma, float* dbeta) {
          const RowStatistics s{mean[r], rstd[r]};
          const RowSums sums = grad_row_sums(Gradients<decltype(dy_zero)>{dy + r * width}, x + r * width, s, gamma,
                                             width, dgamma, dbeta);
          for_channels(width, [&](std::int64_t c, auto access) {
            const std::int64_t e = r * width + c;
            access.store(dx + e,
                         grad_elements(access.load(dy + e), access.load(x + e), access.load(gamma + c), s, sums));
          });
        });
      });
    });
    partial_.reduce(partials, static_cast<float*>(args.outputs[1]), static_cast<float*>(args.outputs[2]));
  }

 private:
  DType dy_dtype_;
  TensorDesc x_;
  ChannelPartials partial_;
};

}  // namespace

std::unique_ptr<Kernel> make_layer_norm(const KernelContext& context) {
  return std::make_unique<LayerNormKernel>(context);
}
std::unique_ptr<Kernel> make_layer_norm_grad(const KernelContext& context) {
  return std::make_unique<LayerNormGradKernel>(context);
}

}  // namespace ptrain::cpu

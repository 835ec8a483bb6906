#include "core/ops/normalization/dropout_add_layer_norm.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/layer_norm/layer_norm_rows.h"
#include "core/cpu/simd/convert.h"
#include "core/cpu/simd/dropout_factors.h"

namespace ptrain::cpu {
namespace {

/// sum = x * mask + residual for one row, whose first element has index `first`.
template <typename X, typename R>
void dropout_add_row(const X* x, const R* residual, const DropoutMask& mask, std::int64_t first, std::int64_t width,
                     R* sum) {
  if (mask.threshold == 0) {
    for_channels(width, [&](std::int64_t c, auto access) {
      access.store(sum + c, access.load(x + c) + access.load(residual + c));
    });
    return;
  }
  float factors[run_length];
  for (std::int64_t c0 = 0; c0 < width; c0 += run_length) {
    const std::int64_t part = std::min(run_length, width - c0);
    dropout_factors(mask, static_cast<std::uint64_t>(first + c0), part, factors);
    for_channels(part, [&](std::int64_t i, auto access) {
      const std::int64_t c = c0 + i;
      access.store(sum + c, access.load(x + c) * access.load(factors + i) + access.load(residual + c));
    });
  }
}

class DropoutAddLayerNormKernel final : public Kernel {
  using Op = DropoutAddLayerNorm;

 public:
  explicit DropoutAddLayerNormKernel(const KernelContext& context)
      : attributes_(context.op_as<DropoutAddLayerNorm>().attrs()),
        x_(context.inputs[Op::x]),
        residual_(context.inputs[Op::residual]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t width = x_.shape[-1];
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* beta = static_cast<const float*>(args.inputs[Op::beta]);
    const DropoutMask mask = dropout_mask(attributes_.dropout, args.inputs, 4, attributes_.stream, x_.count());
    auto* mean = static_cast<float*>(args.outputs[Op::mean]);
    auto* rstd = static_cast<float*>(args.outputs[Op::rstd]);
    visit_floating(x_.dtype, [&](auto x_zero) {
      visit_floating(residual_.dtype, [&](auto zero) {
        using R = decltype(zero);
        const auto* x = static_cast<const decltype(x_zero)*>(args.inputs[Op::x]);
        const auto* residual = static_cast<const R*>(args.inputs[Op::residual]);
        auto* y = static_cast<R*>(args.outputs[Op::y]);
        auto* sum = static_cast<R*>(args.outputs[Op::sum]);
        parallel_for(x_.count() / width, row_grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t i = r * width;
            dropout_add_row(x + i, residual + i, mask, i, width, sum + i);
            // Uses the rounded sum, as the gradient does.
            const RowStatistics s = row_statistics(sum + i, width, attributes_.epsilon);
            normalise_row(sum + i, s, gamma, beta, width, y + i);
            if (attributes_.low) {
              visit_low_precision(*attributes_.low, [&](auto low_zero) {
                using L = decltype(low_zero);
                convert_run(y + i, static_cast<L*>(args.outputs[DropoutAddLayerNorm::y_low]) + i, width);
              });
            }
            mean[r] = s.mean;
            rstd[r] = s.rstd;
          }
        });
      });
    });
  }

 private:
  DropoutAddLayerNormAttributes attributes_;
  TensorDesc x_;
  TensorDesc residual_;
};

class DropoutAddLayerNormGradKernel final : public Kernel {
  using Op = DropoutAddLayerNormGrad;

 public:
  explicit DropoutAddLayerNormGradKernel(const KernelContext& context)
      : attributes_(context.op_as<DropoutAddLayerNormGrad>().attrs()),
        dy_dtype_(context.inputs[Op::dy].dtype),
        sum_(context.inputs[Op::sum]),
        partial_(sum_.shape[-1]) {
    if (has_input(context.inputs, Op::dy_low)) low_ = context.inputs[Op::dy_low].dtype;
  }

  std::size_t workspace_bytes() const override { return partial_.bytes(); }

  void run(const KernelArgs& args) override {
    if (low_) {
      visit_low_precision(*low_, [&](auto low_zero) {
        const auto* dy = static_cast<const float*>(args.inputs[Op::dy]);
        const auto* low = static_cast<const decltype(low_zero)*>(args.inputs[Op::dy_low]);
        visit_floating(attributes_.x_dtype, [&](auto x_zero) {
          run_as<float, decltype(x_zero)>(args, [&](std::int64_t at) {
            return SummedGradients<decltype(low_zero)>{dy + at, low + at};
          });
        });
      });
    } else {
      visit_floating(dy_dtype_, [&](auto dy_zero) {
        const auto* dy = static_cast<const decltype(dy_zero)*>(args.inputs[Op::dy]);
        visit_floating(sum_.dtype, [&](auto sum_zero) {
          visit_floating(attributes_.x_dtype, [&](auto x_zero) {
            run_as<decltype(sum_zero), decltype(x_zero)>(
                args, [&](std::int64_t at) { return Gradients<decltype(dy_zero)>{dy + at}; });
          });
        });
      });
    }
    partial_.reduce(static_cast<const float*>(args.workspace), static_cast<float*>(args.outputs[2]),
                    static_cast<float*>(args.outputs[3]));
  }

 private:
  /// `row_at(i)` is the row of dy whose first element has index i.
  template <typename R, typename X, typename RowAt>
  void run_as(const KernelArgs& args, const RowAt& row_at) {
    const std::int64_t width = sum_.shape[-1];
    const auto* sum = static_cast<const R*>(args.inputs[Op::sum]);
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* mean = static_cast<const float*>(args.inputs[Op::mean]);
    const auto* rstd = static_cast<const float*>(args.inputs[Op::rstd]);
    auto* dx = static_cast<X*>(args.outputs[0]);
    auto* dresidual = static_cast<R*>(args.outputs[1]);
    const DropoutMask mask = dropout_mask(attributes_.dropout, args.inputs, 5, attributes_.stream, sum_.count());
    partial_.for_parts(
        sum_.count() / width, static_cast<float*>(args.workspace), [&](std::int64_t r, float* dgamma, float* dbeta) {
          const std::int64_t i = r * width;
          const RowStatistics s{mean[r], rstd[r]};
          const auto dy = row_at(i);
          const RowSums sums = grad_row_sums(dy, sum + i, s, gamma, width, dgamma, dbeta);
          float factors[run_length];
          std::fill(factors, factors + run_length, 1.0f);
          for (std::int64_t c0 = 0; c0 < width; c0 += run_length) {
            const std::int64_t part = std::min(run_length, width - c0);
            if (mask.threshold > 0) dropout_factors(mask, static_cast<std::uint64_t>(i + c0), part, factors);
            for_channels(part, [&](std::int64_t c, auto access) {
              const std::int64_t e = i + c0 + c;
              const f32x16 d =
                  grad_elements(dy.load(c0 + c, access), access.load(sum + e), access.load(gamma + c0 + c), s, sums);
              access.store(dresidual + e, d);
              access.store(dx + e, d * access.load(factors + c));
            });
          }
        });
  }

  DropoutAddLayerNormGradAttributes attributes_;
  DType dy_dtype_;
  TensorDesc sum_;
  ChannelPartials partial_;
  std::optional<DType> low_;  // of dy_low
};

}  // namespace

std::unique_ptr<Kernel> make_dropout_add_layer_norm(const KernelContext& context) {
  return std::make_unique<DropoutAddLayerNormKernel>(context);
}
std::unique_ptr<Kernel> make_dropout_add_layer_norm_grad(const KernelContext& context) {
  return std::make_unique<DropoutAddLayerNormGradKernel>(context);
}

}  // namespace ptrain::cpu

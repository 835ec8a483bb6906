// Gradient of batch normalisation (Ioffe and Szegedy, "Batch Normalization", 2015, section 3): one pass for the two
// sums over each channel, one for dx. With g the gradient before the activation and d = x - mean:
//   dx = scale (g - sum(g) / n - d invstd^2 sum(g d) / n),  scale = gamma invstd.
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/row_blocks.h"
#include "core/cpu/simd/simd_activation.h"
#include "core/ops/normalization/batch_norm.h"

namespace ptrain::cpu {
namespace {

using Op = BatchNormGrad;

class BatchNormGradKernel final : public Kernel {
 public:
  explicit BatchNormGradKernel(const KernelContext& context)
      : attrs_(context.op_as<Op>().attrs()),
        dtype_(context.inputs[Op::x].dtype),
        in_two_parts_(has_input(context.inputs, Op::dy_more)),
        rows_(context.inputs[Op::x]),
        collectives_(attrs_.sync ? context.collectives : nullptr) {}

  std::size_t workspace_bytes() const override {
    return (3 * static_cast<std::size_t>(rows_.channels) + rows_.partial_floats()) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      if (attrs_.residual) return run_typed<T, Activation::none, true>(args);  // the mask has the activation
      visit_norm_activation(attrs_.activation, [&](auto kind) { run_typed<T, decltype(kind)::value, false>(args); });
    });
  }

 private:
  template <typename T, Activation activation, bool residual>
  void run_typed(const KernelArgs& args) const {
    auto* scale = static_cast<float*>(args.workspace);
    float* slope = scale + rows_.channels;
    float* offset = slope + rows_.channels;
    float* partial = offset + rows_.channels;
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* invstd = static_cast<const float*>(args.inputs[Op::saved_invstd]);
    for (std::int64_t c = 0; c < rows_.channels; ++c) scale[c] = gamma[c] * invstd[c];
    if constexpr (residual) {
      in_two_parts_ ? sum<T, activation, true, true>(args, scale, partial)
                    : sum<T, activation, true, false>(args, scale, partial);
    } else {
      sum<T, activation, false, false>(args, scale, partial);
    }

    auto* dgamma = static_cast<float*>(args.outputs[1]);
    auto* dbeta = static_cast<float*>(args.outputs[2]);
    const double count = static_cast<double>(rows_.count);
    rows_.reduce(partial, [&](std::int64_t c, double sum_g, double sum_gd) {
      const double r = static_cast<double>(invstd[c]);
      const double s = collectives_ == nullptr ? static_cast<double>(scale[c]) : 1.0;  // applied after the exchange
      dgamma[c] = static_cast<float>(sum_gd * r);
      dbeta[c] = static_cast<float>(sum_g);
      slope[c] = static_cast<float>(-s * r * r * sum_gd / count);
      offset[c] = static_cast<float>(-s * sum_g / count);
    });
    if (collectives_ != nullptr) average_over_ranks(scale, slope, offset);
    apply<T, activation, residual>(args, scale, slope, offset);
  }

  /// Replaces this rank's sums in `slope` and `offset`, which are adjacent, by the means over all ranks.
  void average_over_ranks(const float* scale, float* slope, float* offset) const {
    const float factor = 1.0f / static_cast<float>(collectives_->world_size());
    collectives_->start_all_reduce(slope, 2 * rows_.channels, DType::f32, factor);
    collectives_->wait_all_reduces();
    for (std::int64_t c = 0; c < rows_.channels; ++c) {
      slope[c] *= scale[c];
      offset[c] *= scale[c];
    }
  }

  template <typename T, Activation activation, bool residual, bool in_two_parts>
  void sum(const KernelArgs& args, const float* scale, float* partial) const {
    const auto* dy = static_cast<const T*>(args.inputs[Op::dy]);
    const auto* x = static_cast<const T*>(args.inputs[Op::x]);
    const auto* mask = static_cast<const std::uint8_t*>(args.inputs[Op::mask]);
    const auto* more = in_two_parts ? static_cast<const T*>(args.inputs[Op::dy_more]) : nullptr;
    const auto* mean = static_cast<const float*>(args.inputs[Op::saved_mean]);
    const auto* beta = static_cast<const float*>(args.inputs[Op::beta]);
    T* dresidual = residual ? static_cast<T*>(args.outputs[3]) : nullptr;
    rows_.sums(partial, Order::backward, [&](std::int64_t c, auto access, const auto& rows, f32x16& s1, f32x16& s2) {
      const f32x16 m = access.load(mean + c), s = access.load(scale + c), b = access.load(beta + c);
      rows.each([&](std::int64_t row) __attribute__((always_inline)) {
        const std::int64_t at = row * rows_.channels + c;
        const f32x16 d = rows.load(x + at) - m;
        f32x16 g = rows.load(dy + at);
        if constexpr (in_two_parts) g += rows.load(more + at);
        if constexpr (residual) {
          g = where_bits(access.load_bits(mask + at / 8), g);
          rows.store(dresidual + at, g);
        } else {
          g = activation_gradient16<activation>(g, d * s + b);
        }
        s1 += g;
        s2 += g * d;
      });
    });
  }

  template <typename T, Activation activation, bool residual>
  void apply(const KernelArgs& args, const float* scale, const float* slope, const float* offset) const {
    const auto* gradient = static_cast<const T*>(residual ? args.outputs[3] : args.inputs[Op::dy]);
    const auto* x = static_cast<const T*>(args.inputs[Op::x]);
    const auto* mean = static_cast<const float*>(args.inputs[Op::saved_mean]);
    const auto* beta = static_cast<const float*>(args.inputs[Op::beta]);
    auto* dx = static_cast<T*>(args.outputs[0]);
    rows_.map(Order::forward, [&](std::int64_t c, auto access, const auto& rows) {
      const f32x16 m = access.load(mean + c), s = access.load(scale + c), b = access.load(beta + c);
      const f32x16 k1 = access.load(slope + c), k0 = access.load(offset + c);
      rows.each([&](std::int64_t row) __attribute__((always_inline)) {
        const std::int64_t at = row * rows_.channels + c;
        const f32x16 d = rows.load(x + at) - m;
        f32x16 g = rows.load(gradient + at);
        if constexpr (!residual) g = activation_gradient16<activation>(g, d * s + b);
        rows.store(dx + at, g * s + (d * k1 + k0));
      });
    });
  }

  Op::Attributes attrs_;
  DType dtype_;
  bool in_two_parts_;
  RowBlocks rows_;
  Collectives* collectives_;  // null: statistics of this rank only
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_grad(const KernelContext& context) {
  return std::make_unique<BatchNormGradKernel>(context);
}

}  // namespace ptrain::cpu

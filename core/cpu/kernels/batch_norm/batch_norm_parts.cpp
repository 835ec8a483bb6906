// The parts of a batch norm, over rows of channels.
#include "core/ops/normalization/batch_norm_parts.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/row_blocks.h"
#include "core/cpu/simd/simd_activation.h"
#include "core/ops/math/batch_norm_math.h"

#include <cmath>

namespace ptrain::cpu {
namespace {

const float* floats(const KernelArgs& args, int input) {
  return static_cast<const float*>(args.inputs[static_cast<std::size_t>(input)]);
}

class FinalizeKernel final : public Kernel {
 public:
  using Op = BatchNormFinalize;

  explicit FinalizeKernel(const KernelContext& context)
      : attrs_(context.op_as<Op>().attrs()), channels_(context.inputs[Op::sum].count()) {}

  void run(const KernelArgs& args) override {
    const auto output = [&](Op::Output index) { return static_cast<float*>(args.outputs[index]); };
    float *saved_mean = output(Op::saved_mean), *saved_invstd = output(Op::saved_invstd);
    float *scale = output(Op::scale), *offset = output(Op::offset);
    auto* running_mean = static_cast<float*>(args.inputs[Op::running_mean]);
    auto* running_var = static_cast<float*>(args.inputs[Op::running_var]);
    const double count = static_cast<double>(attrs_.count), momentum = static_cast<double>(attrs_.momentum);
    for (std::int64_t c = 0; c < channels_; ++c) {
      const BatchStatistics batch = batch_statistics(static_cast<double>(floats(args, Op::sum)[c]),
                                                     static_cast<double>(floats(args, Op::sum_of_squares)[c]), count);
      saved_mean[c] = static_cast<float>(batch.mean);
      saved_invstd[c] = static_cast<float>(1.0 / std::sqrt(batch.variance + static_cast<double>(attrs_.epsilon)));
      scale[c] = floats(args, Op::gamma)[c] * saved_invstd[c];
      offset[c] = floats(args, Op::beta)[c] - saved_mean[c] * scale[c];
      running_mean[c] = running_average(running_mean[c], batch.mean, momentum);
      running_var[c] = running_average(running_var[c], batch.variance * count / (count - 1), momentum);
    }
  }

 private:
  Op::Attributes attrs_;
  std::int64_t channels_;
};

class ApplyKernel final : public Kernel {
 public:
  using Op = BatchNormApply;

  explicit ApplyKernel(const KernelContext& context)
      : attrs_(context.op_as<Op>().attrs()), dtype_(context.inputs[Op::x].dtype), rows_(context.inputs[Op::x]) {}

  void run(const KernelArgs& args) override {
    visit_norm_activation(attrs_.activation, [&](auto kind) {
      visit_floating(dtype_, [&](auto zero) { run_typed<decltype(kind)::value, decltype(zero)>(args); });
    });
  }

 private:
  template <Activation activation, typename T>
  void run_typed(const KernelArgs& args) const {
    const auto* x = static_cast<const T*>(args.inputs[Op::x]);
    const auto* residual = static_cast<const T*>(args.inputs[Op::residual]);
    const float *scale = floats(args, Op::scale), *offset = floats(args, Op::offset);
    const float *residual_scale = floats(args, Op::residual_scale),
                *residual_offset = floats(args, Op::residual_offset);
    auto* y = static_cast<T*>(args.outputs[Op::y]);
    auto* mask = attrs_.mask ? static_cast<std::uint8_t*>(args.outputs[Op::mask]) : nullptr;
    rows_.map(Order::forward, [&](std::int64_t c, auto access, const auto& rows) {
      const f32x16 s = access.load(scale + c), b = access.load(offset + c);
      f32x16 rs = f32x16{} + 1.0f, rb{};
      if (residual_scale != nullptr) rs = access.load(residual_scale + c), rb = access.load(residual_offset + c);
      rows.each([&](std::int64_t row) __attribute__((always_inline)) {
        const std::int64_t at = row * rows_.channels + c;
        f32x16 v = rows.load(x + at) * s + b;
        if (residual != nullptr) v += rows.load(residual + at) * rs + rb;
        v = activate16<activation>(v);
        rows.store(y + at, v);
        if constexpr (is_gate(activation)) {
          if (mask != nullptr) access.store_bits(mask + at / 8, gate_bits<activation>(v));
        }
      });
    });
  }

  Op::Attributes attrs_;
  DType dtype_;
  RowBlocks rows_;
};

class GradApplyKernel final : public Kernel {
 public:
  using Op = BatchNormGradApply;

  explicit GradApplyKernel(const KernelContext& context)
      : dtype_(context.inputs[Op::x].dtype), rows_(context.inputs[Op::x]) {}

  std::size_t workspace_bytes() const override { return 3 * static_cast<std::size_t>(rows_.channels) * sizeof(float); }

  void run(const KernelArgs& args) override {
    auto* scale = static_cast<float*>(args.workspace);
    float *slope = scale + rows_.channels, *offset = slope + rows_.channels;
    for (std::int64_t c = 0; c < rows_.channels; ++c) {
      const BatchNormGradTerms terms = batch_norm_grad_terms(
          floats(args, Op::gamma)[c], floats(args, Op::saved_invstd)[c], floats(args, Op::dgamma)[c],
          floats(args, Op::dbeta)[c], static_cast<double>(rows_.count));
      scale[c] = terms.scale, slope[c] = terms.slope, offset[c] = terms.offset;
    }
    visit_floating(dtype_, [&](auto zero) { run_typed<decltype(zero)>(args, scale, slope, offset); });
  }

 private:
  template <typename T>
  void run_typed(const KernelArgs& args, const float* scale, const float* slope, const float* offset) const {
    const auto* dz = static_cast<const T*>(args.inputs[Op::dz]);
    const auto* x = static_cast<const T*>(args.inputs[Op::x]);
    const float* mean = floats(args, Op::saved_mean);
    auto* dx = static_cast<T*>(args.outputs[0]);
    rows_.map(Order::forward, [&](std::int64_t c, auto access, const auto& rows) {
      const f32x16 m = access.load(mean + c), s = access.load(scale + c);
      const f32x16 k1 = access.load(slope + c), k0 = access.load(offset + c);
      rows.each([&](std::int64_t row) __attribute__((always_inline)) {
        const std::int64_t at = row * rows_.channels + c;
        rows.store(dx + at, rows.load(dz + at) * s + ((rows.load(x + at) - m) * k1 + k0));
      });
    });
  }

  DType dtype_;
  RowBlocks rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_finalize(const KernelContext& context) {
  return std::make_unique<FinalizeKernel>(context);
}

std::unique_ptr<Kernel> make_batch_norm_apply(const KernelContext& context) {
  return std::make_unique<ApplyKernel>(context);
}

std::unique_ptr<Kernel> make_batch_norm_grad_apply(const KernelContext& context) {
  return std::make_unique<GradApplyKernel>(context);
}

}  // namespace ptrain::cpu

// Convolutions with parts of batch norms, through oneDNN: the plain convolution after a pass for the prologue and
// before one for the sums. The reference for fused kernels of other backends.
#include "core/ops/image/conv2d_batch_norm.h"

#include "core/base/round_up.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/row_blocks.h"
#include "core/cpu/simd/simd_activation.h"
#include "core/ops/normalization/batch_norm_parts.h"

#include <array>
#include <optional>
#include <vector>

namespace ptrain::cpu {
namespace {

std::byte* after(void* memory, std::size_t bytes) { return static_cast<std::byte*>(memory) + bytes; }
const float* floats(const void* memory) { return static_cast<const float*>(memory); }

/// A kernel for a part of `context`'s op.
std::unique_ptr<Kernel> make_part(const KernelContext& context, KernelFactory make, const Op& op,
                                  const std::vector<TensorDesc>& inputs, const TensorDesc& output) {
  return make({op, inputs, std::span(&output, 1), context.options, context.search_cache, context.collectives});
}

/// relu(x * scale + offset) in scratch memory.
class Prologue {
 public:
  Prologue(const KernelContext& context, const TensorDesc& x, const TensorDesc& channels)
      : bytes_(round_up(x.bytes(), alignment)),
        apply_(make_part(context, make_batch_norm_apply, BatchNormApply({.activation = Activation::relu}),
                         {x, channels, channels, absent_input(), absent_input(), absent_input()}, x)) {}

  std::size_t bytes() const { return bytes_; }
  void run(void* x, void* scale, void* offset, void* result) const {
    const std::array<void*, 6> inputs{x, scale, offset};
    apply_->run({inputs, std::span(&result, 1)});
  }

 private:
  static constexpr std::size_t alignment = 64;

  std::size_t bytes_;
  std::unique_ptr<Kernel> apply_;
};

class Conv2dBatchNormKernel final : public Kernel {
 public:
  using Op = Conv2dBatchNorm;

  explicit Conv2dBatchNormKernel(const KernelContext& context)
      : rows_(context.outputs[0]),
        dtype_(context.outputs[0].dtype),
        convolution_(make_part(context, make_conv2d, Conv2d(context.op_as<Op>().attrs()),
                               {context.inputs[Op::x], context.inputs[Op::w]}, context.outputs[0])) {
    const TensorDesc& scale = context.inputs[Op::scale];
    if (!is_absent(scale)) prologue_.emplace(context, context.inputs[Op::x], scale);
  }

  std::size_t workspace_bytes() const override {
    return prologue_bytes() + std::max(convolution_->workspace_bytes(), rows_.partial_floats() * sizeof(float));
  }
  KernelRecord record() const override { return {"separate " + convolution_->record().implementation}; }

  void run(const KernelArgs& args) override {
    std::array<void*, 2> inputs{args.inputs[Op::x], args.inputs[Op::w]};
    if (prologue_) {
      inputs[0] = args.workspace;
      prologue_->run(args.inputs[Op::x], args.inputs[Op::scale], args.inputs[Op::offset], inputs[0]);
    }
    std::byte* scratch = after(args.workspace, prologue_bytes());
    convolution_->run({inputs, args.outputs.first(1), scratch});
    auto* partial = reinterpret_cast<float*>(scratch);
    visit_floating(dtype_, [&](auto zero) { sum(static_cast<const decltype(zero)*>(args.outputs[0]), partial); });
    rows_.reduce(partial, [&](std::int64_t c, double sum, double sum_of_squares) {
      static_cast<float*>(args.outputs[1])[c] = static_cast<float>(sum);
      static_cast<float*>(args.outputs[2])[c] = static_cast<float>(sum_of_squares);
    });
  }

 private:
  std::size_t prologue_bytes() const { return prologue_ ? prologue_->bytes() : 0; }

  template <typename T>
  void sum(const T* y, float* partial) const {
    rows_.sums(partial, Order::backward, [&](std::int64_t c, auto, const auto& rows, f32x16& s1, f32x16& s2) {
      rows.each([&](std::int64_t row) __attribute__((always_inline)) {
        const f32x16 v = rows.load(y + row * rows_.channels + c);
        s1 += v;
        s2 += v * v;
      });
    });
  }

  RowBlocks rows_;
  DType dtype_;
  std::unique_ptr<Kernel> convolution_;
  std::optional<Prologue> prologue_;
};

class Conv2dBatchNormGradInputKernel final : public Kernel {
 public:
  using Op = Conv2dBatchNormGradInput;

  explicit Conv2dBatchNormGradInputKernel(const KernelContext& context)
      : dtype_(context.inputs[Op::x].dtype),
        rows_(context.inputs[Op::x]),
        convolution_(make_part(context, make_conv2d_grad_input,
                               Conv2dGradInput({context.op_as<Op>().attrs(), context.inputs[Op::x].shape}),
                               {context.inputs[Op::dy], context.inputs[Op::w]}, context.outputs[0])) {}

  std::size_t workspace_bytes() const override {
    return std::max(convolution_->workspace_bytes(), rows_.partial_floats() * sizeof(float));
  }
  KernelRecord record() const override { return {"separate " + convolution_->record().implementation}; }

  void run(const KernelArgs& args) override {
    convolution_->run({args.inputs.first(2), args.outputs.first(1), args.workspace});
    auto* partial = static_cast<float*>(args.workspace);
    visit_floating(dtype_, [&](auto zero) { mask_and_sum<decltype(zero)>(args, partial); });
    const float* invstd = floats(args.inputs[Op::saved_invstd]);
    rows_.reduce(partial, [&](std::int64_t c, double sum, double sum_of_products) {
      static_cast<float*>(args.outputs[1])[c] = static_cast<float>(sum_of_products * static_cast<double>(invstd[c]));
      static_cast<float*>(args.outputs[2])[c] = static_cast<float>(sum);
    });
  }

 private:
  /// dz where the norm's output is positive, and its sums: plain, and times x - mean.
  template <typename T>
  void mask_and_sum(const KernelArgs& args, float* partial) const {
    const auto* x = static_cast<const T*>(args.inputs[Op::x]);
    auto* dz = static_cast<T*>(args.outputs[0]);
    const float *mean = floats(args.inputs[Op::saved_mean]), *invstd = floats(args.inputs[Op::saved_invstd]);
    const float *gamma = floats(args.inputs[Op::gamma]), *beta = floats(args.inputs[Op::beta]);
    rows_.sums(partial, Order::backward, [&](std::int64_t c, auto access, const auto& rows, f32x16& s1, f32x16& s2) {
      const f32x16 m = access.load(mean + c), s = access.load(gamma + c) * access.load(invstd + c);
      const f32x16 b = access.load(beta + c);
      rows.each([&](std::int64_t row) __attribute__((always_inline)) {
        const std::int64_t at = row * rows_.channels + c;
        const f32x16 d = rows.load(x + at) - m;
        const f32x16 g = activation_gradient16<Activation::relu>(rows.load(dz + at), d * s + b);
        rows.store(dz + at, g);
        s1 += g;
        s2 += g * d;
      });
    });
  }

  DType dtype_;
  RowBlocks rows_;
  std::unique_ptr<Kernel> convolution_;
};

class Conv2dBatchNormGradWeightKernel final : public Kernel {
 public:
  using Op = Conv2dBatchNormGradWeight;

  explicit Conv2dBatchNormGradWeightKernel(const KernelContext& context)
      : prologue_(context, context.inputs[Op::x], context.inputs[Op::scale]),
        convolution_(make_part(context, make_conv2d_grad_weight, Conv2dGradWeight(context.op_as<Op>().attrs()),
                               {context.inputs[Op::x], context.inputs[Op::dy]}, context.outputs[0])) {}

  std::size_t workspace_bytes() const override { return prologue_.bytes() + convolution_->workspace_bytes(); }
  KernelRecord record() const override { return {"separate " + convolution_->record().implementation}; }

  void run(const KernelArgs& args) override {
    prologue_.run(args.inputs[Op::x], args.inputs[Op::scale], args.inputs[Op::offset], args.workspace);
    const std::array<void*, 2> inputs{args.workspace, args.inputs[Op::dy]};
    convolution_->run({inputs, args.outputs, after(args.workspace, prologue_.bytes())});
  }

 private:
  Prologue prologue_;
  std::unique_ptr<Kernel> convolution_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d_batch_norm(const KernelContext& context) {
  return std::make_unique<Conv2dBatchNormKernel>(context);
}

std::unique_ptr<Kernel> make_conv2d_batch_norm_grad_input(const KernelContext& context) {
  return std::make_unique<Conv2dBatchNormGradInputKernel>(context);
}

std::unique_ptr<Kernel> make_conv2d_batch_norm_grad_weight(const KernelContext& context) {
  return std::make_unique<Conv2dBatchNormGradWeightKernel>(context);
}

}  // namespace ptrain::cpu

// Fully connected layers through cuBLASLt. Bias, tanh GELU and its gradient, and bias gradients are fused into the
// products where cuBLASLt can, unless an exhaustive search finds separate launches faster; other activations always run
// as separate kernels. The fused tanh GELU sees unrounded sums. Where KernelOptions::fp8 requests it, 16-bit products
// are tried from operands rounded to 8 bits too, with what follows them in separate kernels but for a bias.
#include "core/ops/linear.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/kernels/linear/activation_gradient_sums.h"
#include "core/cuda/kernels/linear/fp8_operands.h"
#include "core/cuda/library/algorithm_search.h"
#include "core/cuda/library/gemm.h"
#include "core/cuda/primitives/columns.h"
#include "core/cuda/primitives/convert.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace ptrain::cuda {
namespace {

/// An operand in the product's dtype; converted in the workspace if it has another.
class Converted {
 public:
  Converted() = default;
  Converted(const TensorDesc& desc, DType dtype, WorkspaceLayout& layout) : desc_(desc), dtype_(dtype) {
    if (desc.dtype != dtype) part_ = layout.take(static_cast<std::size_t>(desc.count()) * element_size(dtype));
  }
  void* in(const Device& device, void* operand, void* workspace) const {
    if (desc_.dtype == dtype_) return operand;  // also of a Converted that was made of nothing
    convert(device, desc_.dtype, operand, dtype_, part_.in(workspace), desc_.count());
    return part_.in(workspace);
  }

 private:
  TensorDesc desc_;
  DType dtype_ = DType::f32;
  WorkspacePart part_;
};

/// cuBLASLt's constraint on the width of the matrix that a GELU saves.
constexpr std::int64_t saved_columns_multiple = 8;

/// x w^T, w being [N,K], in the dtype of y.
MatrixProduct forward_product(const TensorDesc& x, const TensorDesc& w, const TensorDesc& y) {
  MatrixProduct product;
  product.inner = w.shape[1];
  product.columns = w.shape[0];
  product.rows = x.count() / product.inner;
  product.right_transposed = true;
  product.in = x.dtype;
  product.out = y.dtype;
  return product;
}

/// dy w, w being [N,K].
MatrixProduct input_gradient_product(const TensorDesc& dy, const TensorDesc& w) {
  MatrixProduct product;
  product.inner = w.shape[0];
  product.columns = w.shape[1];
  product.rows = dy.count() / product.inner;
  product.in = product.out = dy.dtype;
  return product;
}

/// dy^T x: dy is stored as [inner,rows].
MatrixProduct weight_gradient_product(const TensorDesc& x, const TensorDesc& dw) {
  MatrixProduct product;
  product.rows = dw.shape[0];
  product.columns = dw.shape[1];
  product.inner = x.count() / product.columns;
  product.left_transposed = true;
  product.in = x.dtype;
  product.out = dw.dtype;
  return product;
}

/// A way to compute a layer's product.
struct Variant {
  Epilogue epilogue = Epilogue::none;
  bool fp8 = false;
};

/// Kernels for the epilogues that cuBLASLt has an algorithm for: the first or, after an exhaustive search, the fastest
/// together with the launches that it needs besides. In FP8 first where nothing is timed, else last: the first stays
/// unless another is clearly faster.
template <typename Candidate>
std::unique_ptr<Kernel> choose_variant(const KernelContext& context, Device& device,
                                       const std::vector<Epilogue>& epilogues) {
  const bool search = context.options.exhaustive_search;
  std::vector<Variant> variants;
  for (const Epilogue epilogue : epilogues) variants.push_back({epilogue});
  if (context.options.fp8 && device.has_fp8() && is_low_precision(context.inputs[0].dtype)) {
    const bool with_bias = std::ranges::find(epilogues, Epilogue::bias) != epilogues.end();
    const Variant fp8{with_bias ? Epilogue::bias : Epilogue::none, true};
    variants.insert(search ? variants.end() : variants.begin(), fp8);
  }
  std::vector<std::unique_ptr<Kernel>> candidates;
  for (const Variant& variant : variants) {
    auto kernel = std::make_unique<Candidate>(context, device, variant);
    if (kernel->has_algorithm()) candidates.push_back(std::move(kernel));
    if (!candidates.empty() && !search) break;
  }
  return choose_kernel(context, device, std::move(candidates));
}

/// A layer's product: left in the product's dtype, right perhaps in another; in FP8 both are rounded to 8 bits.
class LayerProduct {
 public:
  LayerProduct(const KernelContext& context, Device& device, MatrixProduct product, const TensorDesc& right,
               const Variant& variant, Fp8Formats formats, WorkspaceLayout& layout)
      : device_(device), is_low_(is_low_precision(product.in)) {
    product.epilogue = variant.epilogue;
    if (variant.fp8) {
      if (!Fp8Operands::fits(product)) return;
      rounded_.emplace(device, product, product.in, right.dtype, formats, layout);
      product = rounded_->rounded_product();
    } else {
      right_ = Converted(right, product.in, layout);
    }
    gemm_ = Gemm::make(context, device, product);
    if (gemm_ != nullptr) workspace_ = layout.take(gemm_->workspace_bytes());
  }

  bool has_algorithm() const { return gemm_ != nullptr; }
  KernelRecord record() const {
    const Fp8Part part = rounded_ ? Fp8Part::taken : is_low_ ? Fp8Part::left : Fp8Part::none;
    return {gemm_->implementation(), BatchNormPart::none, part};
  }

  void run(Gemm::Operands operands, void* right, void* workspace) const {
    operands.right = right_.in(device_, right, workspace);
    if (rounded_) rounded_->round(operands, workspace);
    gemm_->run(operands, workspace_.in(workspace));
  }

 private:
  Device& device_;
  bool is_low_;
  Converted right_;
  std::optional<Fp8Operands> rounded_;
  std::unique_ptr<Gemm> gemm_;  // null: cuBLASLt has no algorithm
  WorkspacePart workspace_;
};

bool holds_gelu(Epilogue epilogue) { return epilogue != Epilogue::none && epilogue != Epilogue::bias; }

class LinearKernel final : public Kernel {
  using Op = Linear;

 public:
  LinearKernel(const KernelContext& context, Device& device, const Variant& variant)
      : device_(device),
        epilogue_(variant.epilogue),
        shape_(forward_product(context.inputs[Op::x], context.inputs[Op::w], context.outputs[0])),
        product_(context, device, shape_, context.inputs[Op::w], variant, {Fp8::e4m3, Fp8::e4m3}, layout_) {
    if (!has_algorithm()) return;
    const LinearAttributes& attributes = context.op_as<Linear>().attrs();
    save_pre_ = attributes.save_pre;
    has_bias_ = has_input(context.inputs, Linear::bias);
    if (has_bias_) bias_dtype_ = context.inputs[Op::bias].dtype;
    if (epilogue_ != Epilogue::none) fused_bias_ = Converted(context.inputs[Op::bias], shape_.out, layout_);
    if (attributes.activation != Activation::none && !holds_gelu(epilogue_)) {
      const ActivationOp op(attributes.activation);
      activation_ = make_activation({op, context.outputs.last(1), context.outputs.first(1), context.options}, device);
    }
  }

  /// Epilogues that suit the op, the most fused first.
  static std::vector<Epilogue> epilogues(const KernelContext& context) {
    const LinearAttributes& attributes = context.op_as<Linear>().attrs();
    if (!has_input(context.inputs, Linear::bias)) return {Epilogue::none};
    if (attributes.activation != Activation::gelu_tanh ||
        context.inputs[Op::w].shape[0] % saved_columns_multiple != 0) {
      return {Epilogue::bias, Epilogue::none};
    }
    return {attributes.save_pre ? Epilogue::gelu_tanh_aux_bias : Epilogue::gelu_tanh_bias, Epilogue::bias,
            Epilogue::none};
  }

  bool has_algorithm() const { return product_.has_algorithm(); }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override {
    KernelRecord record = product_.record();
    std::string& text = record.implementation;
    if (epilogue_ != Epilogue::none) text += holds_gelu(epilogue_) ? " bias gelu" : " bias";
    if (has_bias_ && epilogue_ == Epilogue::none) text += " + native:bias";
    if (activation_ != nullptr) text += " + " + activation_->record().implementation;
    return record;
  }

  void run(const KernelArgs& args) override {
    void* y = args.outputs[0];
    void* pre = save_pre_ ? args.outputs[1] : y;
    const bool fused_gelu = holds_gelu(epilogue_);
    Gemm::Operands operands{.left = args.inputs[Op::x], .out = fused_gelu ? y : pre};
    if (epilogue_ != Epilogue::none) operands.bias = fused_bias_.in(device_, args.inputs[Op::bias], args.workspace);
    if (epilogue_ == Epilogue::gelu_tanh_aux_bias) operands.extra = pre;
    product_.run(operands, args.inputs[Op::w], args.workspace);
    if (has_bias_ && epilogue_ == Epilogue::none) {
      add_to_columns(device_, bias_dtype_, args.inputs[Op::bias], shape_.out, pre, shape_.rows, shape_.columns);
    }
    if (activation_ == nullptr && save_pre_ && !fused_gelu) {
      convert(device_, shape_.out, pre, shape_.out, y, shape_.rows * shape_.columns);
    } else if (activation_ != nullptr) {
      void* const inputs[] = {pre};
      void* const outputs[] = {y};
      activation_->run({inputs, outputs, nullptr});
    }
  }

 private:
  Device& device_;
  Epilogue epilogue_;
  MatrixProduct shape_;
  WorkspaceLayout layout_;
  LayerProduct product_;
  bool save_pre_ = false;
  bool has_bias_ = false;
  DType bias_dtype_ = DType::f32;
  Converted fused_bias_;
  std::unique_ptr<Kernel> activation_;  // separate if not fused
};

class LinearGradInputKernel final : public Kernel {
  using Op = LinearGradInput;

 public:
  LinearGradInputKernel(const KernelContext& context, Device& device, const Variant& variant)
      : device_(device),
        epilogue_(variant.epilogue),
        product_(context, device, input_gradient_product(context.inputs[Op::dy], context.inputs[Op::w]),
                 context.inputs[Op::w], variant, {Fp8::e5m2, Fp8::e4m3}, layout_) {
    if (!has_algorithm() || epilogue_ != Epilogue::none) return;
    const LinearGradInputAttributes& attributes = context.op_as<LinearGradInput>().attrs();
    if (attributes.activation != Activation::none) follow_with_activation(context, context.outputs[0]);
  }

  /// Epilogues that suit the op, the most fused first.
  static std::vector<Epilogue> epilogues(const KernelContext& context) {
    const LinearGradInputAttributes& attributes = context.op_as<LinearGradInput>().attrs();
    const DType out = context.inputs[Op::dy].dtype;
    if (attributes.activation != Activation::gelu_tanh ||
        context.inputs[Op::w].shape[1] % saved_columns_multiple != 0 || attributes.bias.value_or(out) != out) {
      return {Epilogue::none};
    }
    return {attributes.bias ? Epilogue::gelu_tanh_grad_sums : Epilogue::gelu_tanh_grad, Epilogue::none};
  }

  bool has_algorithm() const { return product_.has_algorithm(); }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override {
    KernelRecord record = product_.record();
    std::string& text = record.implementation;
    if (epilogue_ != Epilogue::none) text += " gelu gradient";
    if (epilogue_ == Epilogue::gelu_tanh_grad_sums) text += " bias gradient";
    if (activation_ != nullptr || activation_and_bias_) text += " + native:activation gradient";
    return record;
  }

  void run(const KernelArgs& args) override {
    void* dx = args.outputs[0];
    Gemm::Operands operands{.left = args.inputs[Op::dy], .out = dx};
    if (epilogue_ != Epilogue::none) operands.extra = args.inputs[Op::saved];
    if (epilogue_ == Epilogue::gelu_tanh_grad_sums) operands.bias = args.outputs[1];
    product_.run(operands, args.inputs[Op::w], args.workspace);
    if (activation_and_bias_) {
      activation_and_bias_->run(args.inputs[Op::saved], dx, args.outputs[1], sums_workspace_.in(args.workspace));
    } else if (activation_ != nullptr) {
      void* const inputs[] = {args.inputs[Op::saved], dx};
      activation_->run({inputs, args.outputs, nullptr});
    }
  }

 private:
  void follow_with_activation(const KernelContext& context, const TensorDesc& dx) {
    const LinearGradInputAttributes& attributes = context.op_as<LinearGradInput>().attrs();
    if (attributes.bias) {
      activation_and_bias_.emplace(device_, attributes.activation, dx, *attributes.bias);
      sums_workspace_ = layout_.take(activation_and_bias_->workspace_bytes());
    } else {
      const ActivationGrad op(attributes.activation);
      const std::vector<TensorDesc> inputs{context.inputs[Op::saved], dx};
      activation_ = make_activation_grad({op, inputs, context.outputs, context.options}, device_);
    }
  }

  Device& device_;
  Epilogue epilogue_;
  WorkspaceLayout layout_;
  LayerProduct product_;
  WorkspacePart sums_workspace_;
  // At most one of these runs after the product, in place, if the product does not fuse the activation.
  std::optional<ActivationGradientSums> activation_and_bias_;
  std::unique_ptr<Kernel> activation_;
};

class LinearGradWeightKernel final : public Kernel {
  using Op = LinearGradWeight;

 public:
  LinearGradWeightKernel(const KernelContext& context, Device& device, const Variant& variant)
      : dy_(context.inputs[Op::dy]),
        epilogue_(variant.epilogue),
        shape_(weight_gradient_product(context.inputs[Op::x], context.outputs[0])),
        product_(context, device, shape_, context.inputs[Op::x], variant, {Fp8::e5m2, Fp8::e4m3}, layout_) {
    if (!has_algorithm() || context.outputs.size() == 1 || epilogue_ != Epilogue::none) return;
    sums_.emplace(device, shape_.inner, shape_.rows);
    sums_workspace_ = layout_.take(sums_->workspace_bytes());
  }

  /// Epilogues that suit the op, the best first. Of 16-bit products only kernels of older GPUs sum the gradient too: on
  /// an H100 they reach 300 to 540 TFLOP/s where those without reach 550 to 750.
  static std::vector<Epilogue> epilogues(const KernelContext& context, const Device& device) {
    if (context.outputs.size() == 1) return {Epilogue::none};
    if (device.properties().major >= 9 && is_low_precision(context.inputs[Op::x].dtype)) {
      return {Epilogue::none, Epilogue::left_sums};
    }
    return {Epilogue::left_sums, Epilogue::none};
  }

  bool has_algorithm() const { return product_.has_algorithm(); }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override {
    KernelRecord record = product_.record();
    record.implementation += epilogue_ == Epilogue::left_sums ? " bias gradient" : sums_ ? " + native:sums" : "";
    return record;
  }

  void run(const KernelArgs& args) override {
    Gemm::Operands operands{.left = args.inputs[Op::dy], .out = args.outputs[0]};
    if (epilogue_ == Epilogue::left_sums) operands.bias = args.outputs[1];
    product_.run(operands, args.inputs[Op::x], args.workspace);
    if (sums_)
      sums_->run(dy_.dtype, args.inputs[Op::dy], shape_.out, args.outputs[1], sums_workspace_.in(args.workspace));
  }

 private:
  TensorDesc dy_;
  Epilogue epilogue_;
  MatrixProduct shape_;
  WorkspaceLayout layout_;
  LayerProduct product_;
  std::optional<ColumnSums> sums_;  // if the product does not compute the bias gradient
  WorkspacePart sums_workspace_;
};

}  // namespace

std::unique_ptr<Kernel> make_linear(const KernelContext& context, Device& device) {
  return choose_variant<LinearKernel>(context, device, LinearKernel::epilogues(context));
}
std::unique_ptr<Kernel> make_linear_grad_input(const KernelContext& context, Device& device) {
  return choose_variant<LinearGradInputKernel>(context, device, LinearGradInputKernel::epilogues(context));
}
std::unique_ptr<Kernel> make_linear_grad_weight(const KernelContext& context, Device& device) {
  return choose_variant<LinearGradWeightKernel>(context, device, LinearGradWeightKernel::epilogues(context, device));
}

}  // namespace ptrain::cuda

// Fully connected layers through cuBLASLt. Bias, tanh GELU and its gradient, and bias gradients are fused into the
// products where cuBLASLt can, unless an exhaustive search finds separate launches faster; other activations always run
// as separate kernels. The fused tanh GELU sees unrounded sums.
#include "core/ops/linear.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/kernels/linear/activation_gradient_sums.h"
#include "core/cuda/library/algorithm_search.h"
#include "core/cuda/library/gemm.h"
#include "core/cuda/primitives/columns.h"
#include "core/cuda/primitives/convert.h"

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
    if (desc_.dtype == dtype_) return operand;
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

/// Kernels for the epilogues that cuBLASLt has an algorithm for: the first or, after an exhaustive search, the fastest
/// together with the launches that it needs besides.
template <typename Candidate>
std::unique_ptr<Kernel> choose_epilogue(const KernelContext& context, Device& device,
                                        const std::vector<Epilogue>& epilogues) {
  std::vector<std::unique_ptr<Kernel>> candidates;
  for (const Epilogue epilogue : epilogues) {
    auto kernel = std::make_unique<Candidate>(context, device, epilogue);
    if (kernel->has_algorithm()) candidates.push_back(std::move(kernel));
    if (!candidates.empty() && !context.options.exhaustive_search) break;
  }
  return choose_kernel(context, device, std::move(candidates));
}

bool holds_gelu(Epilogue epilogue) { return epilogue != Epilogue::none && epilogue != Epilogue::bias; }

class LinearKernel final : public Kernel {
  using Op = Linear;

 public:
  LinearKernel(const KernelContext& context, Device& device, Epilogue epilogue)
      : device_(device), product_(forward_product(context.inputs[Op::x], context.inputs[Op::w], context.outputs[0])) {
    const LinearAttributes& attributes = context.op_as<Linear>().attrs();
    product_.epilogue = epilogue;
    gemm_ = Gemm::make(context, device, product_);
    if (gemm_ == nullptr) return;
    save_pre_ = attributes.save_pre;
    has_bias_ = has_input(context.inputs, Linear::bias);
    w_ = Converted(context.inputs[Op::w], product_.in, layout_);
    if (has_bias_) bias_dtype_ = context.inputs[Op::bias].dtype;
    if (epilogue != Epilogue::none) fused_bias_ = Converted(context.inputs[Op::bias], product_.out, layout_);
    if (attributes.activation != Activation::none && !holds_gelu(epilogue)) {
      const ActivationOp op(attributes.activation);
      activation_ = make_activation({op, context.outputs.last(1), context.outputs.first(1), context.options}, device);
    }
    gemm_workspace_ = layout_.take(gemm_->workspace_bytes());
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

  bool has_algorithm() const { return gemm_ != nullptr; }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override {
    std::string text = gemm_->implementation();
    if (product_.epilogue != Epilogue::none) text += holds_gelu(product_.epilogue) ? " bias gelu" : " bias";
    if (has_bias_ && product_.epilogue == Epilogue::none) text += " + native:bias";
    if (activation_ != nullptr) text += " + " + activation_->record().implementation;
    return {text};
  }

  void run(const KernelArgs& args) override {
    void* y = args.outputs[0];
    void* pre = save_pre_ ? args.outputs[1] : y;
    const bool fused_gelu = holds_gelu(product_.epilogue);
    Gemm::Operands operands{args.inputs[Op::x], w_.in(device_, args.inputs[Op::w], args.workspace),
                            fused_gelu ? y : pre};
    if (product_.epilogue != Epilogue::none)
      operands.bias = fused_bias_.in(device_, args.inputs[Op::bias], args.workspace);
    if (product_.epilogue == Epilogue::gelu_tanh_aux_bias) operands.extra = pre;
    gemm_->run(operands, gemm_workspace_.in(args.workspace));
    if (has_bias_ && product_.epilogue == Epilogue::none) {
      add_to_columns(device_, bias_dtype_, args.inputs[Op::bias], product_.out, pre, product_.rows, product_.columns);
    }
    if (activation_ == nullptr && save_pre_ && !fused_gelu) {
      convert(device_, product_.out, pre, product_.out, y, product_.rows * product_.columns);
    } else if (activation_ != nullptr) {
      void* const inputs[] = {pre};
      void* const outputs[] = {y};
      activation_->run({inputs, outputs, nullptr});
    }
  }

 private:
  Device& device_;
  MatrixProduct product_;
  bool save_pre_ = false;
  bool has_bias_ = false;
  DType bias_dtype_ = DType::f32;
  WorkspaceLayout layout_;
  Converted w_, fused_bias_;
  std::unique_ptr<Gemm> gemm_;  // null: cuBLASLt has no algorithm
  WorkspacePart gemm_workspace_;
  std::unique_ptr<Kernel> activation_;  // separate if not fused
};

class LinearGradInputKernel final : public Kernel {
  using Op = LinearGradInput;

 public:
  LinearGradInputKernel(const KernelContext& context, Device& device, Epilogue epilogue) : device_(device) {
    const LinearGradInputAttributes& attributes = context.op_as<LinearGradInput>().attrs();
    const TensorDesc &dy = context.inputs[Op::dy], &w = context.inputs[Op::w], &dx = context.outputs[0];
    product_.inner = w.shape[0];
    product_.columns = w.shape[1];
    product_.rows = dy.count() / product_.inner;
    product_.in = product_.out = dy.dtype;
    product_.epilogue = epilogue;
    gemm_ = Gemm::make(context, device, product_);
    if (gemm_ == nullptr) return;
    w_ = Converted(w, dy.dtype, layout_);
    if (epilogue == Epilogue::none && attributes.activation != Activation::none) follow_with_activation(context, dx);
    gemm_workspace_ = layout_.take(gemm_->workspace_bytes());
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

  bool has_algorithm() const { return gemm_ != nullptr; }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override {
    std::string text = gemm_->implementation();
    if (product_.epilogue != Epilogue::none) text += " gelu gradient";
    if (product_.epilogue == Epilogue::gelu_tanh_grad_sums) text += " bias gradient";
    if (activation_ != nullptr || activation_and_bias_) text += " + native:activation gradient";
    return {text};
  }

  void run(const KernelArgs& args) override {
    void* dx = args.outputs[0];
    Gemm::Operands operands{args.inputs[Op::dy], w_.in(device_, args.inputs[Op::w], args.workspace), dx};
    if (product_.epilogue != Epilogue::none) operands.extra = args.inputs[Op::saved];
    if (product_.epilogue == Epilogue::gelu_tanh_grad_sums) operands.bias = args.outputs[1];
    gemm_->run(operands, gemm_workspace_.in(args.workspace));
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
  MatrixProduct product_;
  WorkspaceLayout layout_;
  Converted w_;
  std::unique_ptr<Gemm> gemm_;
  WorkspacePart gemm_workspace_, sums_workspace_;
  // At most one of these runs after the product, in place, if the product does not fuse the activation.
  std::optional<ActivationGradientSums> activation_and_bias_;
  std::unique_ptr<Kernel> activation_;
};

class LinearGradWeightKernel final : public Kernel {
  using Op = LinearGradWeight;

 public:
  LinearGradWeightKernel(const KernelContext& context, Device& device, Epilogue epilogue)
      : dy_(context.inputs[Op::dy]) {
    const TensorDesc &x = context.inputs[Op::x], &dw = context.outputs[0];
    product_.rows = dw.shape[0];
    product_.columns = dw.shape[1];
    product_.inner = x.count() / product_.columns;
    product_.left_transposed = true;  // dy is stored as [inner,rows]
    product_.in = x.dtype;
    product_.out = dw.dtype;
    product_.epilogue = epilogue;
    gemm_ = Gemm::make(context, device, product_);
    if (gemm_ == nullptr) return;
    if (context.outputs.size() > 1 && epilogue == Epilogue::none) {
      sums_.emplace(device, product_.inner, product_.rows);
    }
    if (sums_) sums_workspace_ = layout_.take(sums_->workspace_bytes());
    gemm_workspace_ = layout_.take(gemm_->workspace_bytes());
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

  bool has_algorithm() const { return gemm_ != nullptr; }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override {
    const char* sums = product_.epilogue == Epilogue::left_sums ? " bias gradient" : sums_ ? " + native:sums" : "";
    return {gemm_->implementation() + sums};
  }

  void run(const KernelArgs& args) override {
    Gemm::Operands operands{args.inputs[Op::dy], args.inputs[Op::x], args.outputs[0]};
    if (product_.epilogue == Epilogue::left_sums) operands.bias = args.outputs[1];
    gemm_->run(operands, gemm_workspace_.in(args.workspace));
    if (sums_)
      sums_->run(dy_.dtype, args.inputs[Op::dy], product_.out, args.outputs[1], sums_workspace_.in(args.workspace));
  }

 private:
  TensorDesc dy_;
  MatrixProduct product_;
  WorkspaceLayout layout_;
  std::unique_ptr<Gemm> gemm_;
  std::optional<ColumnSums> sums_;  // if the product does not compute the bias gradient
  WorkspacePart gemm_workspace_, sums_workspace_;
};

}  // namespace

std::unique_ptr<Kernel> make_linear(const KernelContext& context, Device& device) {
  return choose_epilogue<LinearKernel>(context, device, LinearKernel::epilogues(context));
}
std::unique_ptr<Kernel> make_linear_grad_input(const KernelContext& context, Device& device) {
  return choose_epilogue<LinearGradInputKernel>(context, device, LinearGradInputKernel::epilogues(context));
}
std::unique_ptr<Kernel> make_linear_grad_weight(const KernelContext& context, Device& device) {
  return choose_epilogue<LinearGradWeightKernel>(context, device, LinearGradWeightKernel::epilogues(context, device));
}

}  // namespace ptrain::cuda

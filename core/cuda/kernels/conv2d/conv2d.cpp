// Convolution by a cuDNN graph, with bias, residual and ReLU if it has a plan for them.
#include "core/ops/image/conv2d.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/kernels/conv2d/convolution.h"
#include "core/cuda/primitives/columns.h"
#include "core/ops/elementwise.h"

#include <array>

namespace ptrain::cuda {
namespace {

/// Bias, residual and ReLU as the sums are stored; any other activation runs afterwards.
ConvolutionTail make_tail(const KernelContext& context) {
  return {has_input(context.inputs, Conv2d::bias), has_input(context.inputs, Conv2d::residual),
          context.op_as<Conv2d>().activation() == Activation::relu};
}

std::function<CudnnGraph()> make_graph(const KernelContext& context, Device& device, const ConvolutionTail& tail) {
  return [&context, &device, tail] {
    return convolution_graph(device.cudnn_target(), context.op_as<Conv2d>().attrs(), context.inputs[0],
                             context.inputs[1], context.outputs[0], tail);
  };
}

std::unique_ptr<Kernel> make_activation_kernel(const KernelContext& context, Device& device) {
  const ActivationOp activation(context.op_as<Conv2d>().activation());
  return make_activation({activation, context.outputs, context.outputs, context.options}, device);
}

/// Applies an activation that cuDNN cannot fuse into a convolution, in place.
class ConvolutionThenActivation final : public Kernel {
 public:
  ConvolutionThenActivation(std::unique_ptr<Kernel> convolution, std::unique_ptr<Kernel> activation)
      : convolution_(std::move(convolution)), activation_(std::move(activation)) {}

  std::size_t workspace_bytes() const override { return convolution_->workspace_bytes(); }
  KernelRecord record() const override { return {convolution_->record().implementation + ", then activated"}; }
  void run(const KernelArgs& args) override {
    convolution_->run(args);
    void* const inputs[] = {args.outputs[0]};
    activation_->run({inputs, args.outputs, nullptr});
  }

 private:
  std::unique_ptr<Kernel> convolution_, activation_;
};

/// Without a fused cuDNN plan: bias, residual and activation run after the convolution as separate kernels. The result
/// may share the residual's memory, so the convolution writes to the workspace.
class ConvolutionInPasses final : public Kernel {
 public:
  ConvolutionInPasses(const KernelContext& context, Device& device)
      : device_(device),
        y_(context.outputs[0]),
        has_bias_(has_input(context.inputs, Conv2d::bias)),
        sums_(layout_.take(context.outputs[0].bytes())) {
    const Conv2d plain(context.op_as<Conv2d>().attrs());
    const KernelContext of_plain{plain,           context.inputs.first(2), context.outputs,
                                 context.options, context.search_cache,    context.collectives};
    convolution_ = make_convolution(of_plain, device, make_graph(of_plain, device, {}));
    convolution_workspace_ = layout_.take(convolution_->workspace_bytes());
    const std::array<TensorDesc, 2> pair{y_, y_};
    if (has_input(context.inputs, Conv2d::residual)) {
      const Add add;
      add_ = make_add({add, pair, context.outputs, context.options}, device);
    }
    if (context.op_as<Conv2d>().activation() != Activation::none) activation_ = make_activation_kernel(context, device);
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override { return {convolution_->record().implementation + " with passes after it"}; }

  void run(const KernelArgs& args) override {
    void* const sums = add_ != nullptr ? sums_.in(args.workspace) : args.outputs[0];
    void* const sum_outputs[] = {sums};
    convolution_->run({args.inputs.first(2), sum_outputs, convolution_workspace_.in(args.workspace)});
    const std::int64_t channels = y_.shape[-1];
    if (has_bias_) {
      add_to_columns(device_, DType::f32, args.inputs[Conv2d::bias], y_.dtype, sums, y_.count() / channels, channels);
    }
    if (add_ != nullptr) {
      void* const terms[] = {sums, args.inputs[Conv2d::residual]};
      add_->run({terms, args.outputs, nullptr});
    }
    if (activation_ != nullptr) {
      void* const inputs[] = {args.outputs[0]};
      activation_->run({inputs, args.outputs, nullptr});
    }
  }

 private:
  Device& device_;
  TensorDesc y_;
  bool has_bias_;
  WorkspaceLayout layout_;
  WorkspacePart sums_, convolution_workspace_;
  std::unique_ptr<Kernel> convolution_, add_, activation_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const KernelContext& context, Device& device) {
  const Activation activation = context.op_as<Conv2d>().activation();
  if (context.inputs.size() == 2 && activation == Activation::none) {
    return make_convolution(context, device, make_graph(context, device, {}));
  }
  const ConvolutionTail tail = make_tail(context);
  std::string reason;
  auto kernel = try_convolution(context, device, make_graph(context, device, tail), reason);
  if (kernel == nullptr) return std::make_unique<ConvolutionInPasses>(context, device);
  if (activation == Activation::none || tail.relu) return kernel;
  return std::make_unique<ConvolutionThenActivation>(std::move(kernel), make_activation_kernel(context, device));
}

}  // namespace ptrain::cuda

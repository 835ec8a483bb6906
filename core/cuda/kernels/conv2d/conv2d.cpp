// Convolution by a cuDNN graph; bias, residual and activation follow it as kernels of their own.
#include "core/ops/image/conv2d.h"

#include "core/cuda/device/workspace.h"
#include "core/cuda/kernels.h"
#include "core/cuda/kernels/conv2d/convolution.h"
#include "core/cuda/primitives/columns.h"
#include "core/ops/elementwise.h"

#include <array>

namespace ptrain::cuda {
namespace {

std::unique_ptr<Kernel> make_plain(const KernelContext& context, Device& device) {
  return make_convolution(context, device, [&] {
    return convolution_graph(CudnnTarget(device.cudnn()), context.op_as<Conv2d>().attrs(), context.inputs[0],
                             context.inputs[1], context.outputs[0]);
  });
}

/// The result may lie in the residual's memory, so that the convolution writes to the workspace.
class ConvolutionWithEpilogue final : public Kernel {
 public:
  ConvolutionWithEpilogue(const KernelContext& context, Device& device)
      : device_(device),
        y_(context.outputs[0]),
        has_bias_(has_input(context.inputs, Conv2d::bias)),
        sums_(layout_.take(context.outputs[0].bytes())) {
    const auto& op = context.op_as<Conv2d>();
    const Conv2d plain(op.attrs());
    convolution_ = make_plain(
        {plain, context.inputs.first(2), context.outputs, context.options, context.search_cache, context.collectives},
        device);
    convolution_workspace_ = layout_.take(convolution_->workspace_bytes());
    const std::array<TensorDesc, 2> pair{y_, y_};
    if (has_input(context.inputs, Conv2d::residual)) {
      const Add add;
      add_ = make_add({add, pair, context.outputs, context.options}, device);
    }
    if (op.activation() == Activation::none) return;
    const ActivationOp activation(op.activation());
    activation_ = make_activation({activation, context.outputs, context.outputs, context.options}, device);
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
  const bool plain = context.inputs.size() == 2 && context.op_as<Conv2d>().activation() == Activation::none;
  if (plain) return make_plain(context, device);
  return std::make_unique<ConvolutionWithEpilogue>(context, device);
}

}  // namespace ptrain::cuda

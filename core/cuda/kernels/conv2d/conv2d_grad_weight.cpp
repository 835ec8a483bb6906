// Gradient of a convolution with respect to its weights.
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/kernels/conv2d/convolution.h"
#include "core/cuda/primitives/convert.h"
#include "core/ops/image/conv2d.h"

#include <array>

namespace ptrain::cuda {
namespace {

std::function<CudnnGraph()> make_graph(const KernelContext& context, Device& device) {
  return [&context, &device] {
    return convolution_grad_weight_graph(device.cudnn_target(), context.op_as<Conv2dGradWeight>().attrs().conv,
                                         context.inputs[0], context.inputs[1], context.outputs[0]);
  };
}

/// Whether cuDNN writes another dtype than the data's itself: only if channels are multiples of 8. Of 4 channels it has
/// a plan on an H100 (9.14 and 9.19 seen), whose results are wrong.
bool can_write_other_dtype(const TensorDesc& dw) {
  constexpr std::int64_t multiple = 8;
  return dw.shape[0] % multiple == 0 && dw.shape[-1] % multiple == 0;
}

/// Computes in the data's dtype, then converts.
class GradWeightThenConverted final : public Kernel {
 public:
  GradWeightThenConverted(const KernelContext& context, Device& device)
      : device_(device),
        dw_(context.outputs[0]),
        rounded_{context.inputs[0].dtype, dw_.shape},
        rounded_part_(layout_.take(rounded_.bytes())) {
    const std::array<TensorDesc, 1> outputs{rounded_};
    const KernelContext rounded{context.op,      context.inputs,       outputs,
                                context.options, context.search_cache, context.collectives};
    gradient_ = make_convolution(rounded, device, make_graph(rounded, device));
    gradient_workspace_ = layout_.take(gradient_->workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override { return {gradient_->record().implementation + ", then converted"}; }

  void run(const KernelArgs& args) override {
    void* const rounded[] = {rounded_part_.in(args.workspace)};
    gradient_->run({args.inputs, rounded, gradient_workspace_.in(args.workspace)});
    convert(device_, rounded_.dtype, rounded[0], dw_.dtype, args.outputs[0], dw_.count());
  }

 private:
  Device& device_;
  TensorDesc dw_, rounded_;
  WorkspaceLayout layout_;
  WorkspacePart rounded_part_, gradient_workspace_;
  std::unique_ptr<Kernel> gradient_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d_grad_weight(const KernelContext& context, Device& device) {
  if (context.outputs[0].dtype == context.inputs[0].dtype) {
    return make_convolution(context, device, make_graph(context, device));
  }
  std::string reason;
  std::unique_ptr<Kernel> kernel;
  if (can_write_other_dtype(context.outputs[0])) {
    kernel = try_convolution(context, device, make_graph(context, device), reason);
  }
  return kernel != nullptr ? std::move(kernel) : std::make_unique<GradWeightThenConverted>(context, device);
}

}  // namespace ptrain::cuda

// Gradient of batch normalisation, in the same mode as the forward op: cuDNN's persistent kernel or this project's two
// passes.
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/batch_norm/batch_norm_graphs.h"
#include "core/cuda/kernels/batch_norm/native_batch_norm.h"
#include "core/ops/normalization/batch_norm.h"

namespace ptrain::cuda {
namespace {

using Op = BatchNormGrad;

class BatchNormGradKernel final : public Kernel {
 public:
  BatchNormGradKernel(const KernelContext& context, Device& device)
      : attrs_(context.op_as<Op>().attrs()),
        native_(device, context.inputs[Op::x].dtype, context.inputs[Op::x].count() / context.inputs[Op::x].shape[-1],
                context.inputs[Op::x].shape[-1]) {
    if (has_input(context.inputs, Op::dy_more)) {
      // cuDNN 9.19 plans the sum of two gradients and then fails at the run: its engine looks for dy in memory.
      persistent_.reason = "cuDNN's takes one gradient";
      return;
    }
    persistent_ = plan_persistent(context, device, {attrs_.activation, attrs_.residual}, [&] {
      return batch_norm_grad_graph(device.cudnn_target(), attrs_, context.inputs[Op::x]);
    });
  }

  std::size_t workspace_bytes() const override {
    return persistent_.planned ? persistent_.planned->workspace_bytes() : native_.workspace_bytes();
  }
  KernelRecord record() const override { return record_batch_norm(persistent_); }

  void run(const KernelArgs& args) override {
    if (!persistent_.planned) {
      native_.backward(backward_tensors(args), attrs_.activation, args.workspace);
      return;
    }
    std::vector<void*>& p = pointers_;
    p.assign({args.inputs[Op::dy], args.inputs[Op::x], args.inputs[Op::gamma], args.inputs[Op::saved_mean],
              args.inputs[Op::saved_invstd]});
    if (attrs_.residual) {
      p.push_back(args.inputs[Op::mask]);
    } else if (attrs_.activation != Activation::none) {
      p.push_back(args.inputs[Op::beta]);
    }
    p.insert(p.end(), args.outputs.begin(), args.outputs.end());
    persistent_.planned->run(p, args.workspace);
  }

 private:
  static void* second_gradient(const KernelArgs& args) {
    return args.inputs.size() > Op::dy_more ? args.inputs[Op::dy_more] : nullptr;
  }
  NativeBatchNorm::Backward backward_tensors(const KernelArgs& args) const {
    const auto channel_input = [&](Op::Input input) { return static_cast<const float*>(args.inputs[input]); };
    return {args.inputs[Op::dy],
            args.inputs[Op::x],
            static_cast<const std::uint8_t*>(args.inputs[Op::mask]),
            second_gradient(args),
            channel_input(Op::gamma),
            channel_input(Op::beta),
            channel_input(Op::saved_mean),
            channel_input(Op::saved_invstd),
            args.outputs[0],
            static_cast<float*>(args.outputs[1]),
            static_cast<float*>(args.outputs[2]),
            attrs_.residual ? args.outputs[3] : nullptr};
  }

  Op::Attributes attrs_;
  NativeBatchNorm native_;
  Planning persistent_;
  std::vector<void*> pointers_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_grad(const KernelContext& context, Device& device) {
  return std::make_unique<BatchNormGradKernel>(context, device);
}

}  // namespace ptrain::cuda

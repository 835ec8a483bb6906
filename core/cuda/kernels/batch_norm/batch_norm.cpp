// Batch normalisation: cuDNN's fused, persistent kernels if cudnn_batchnorm_spatial_persistent is on and cuDNN has one
// for the shape, this project's two-pass kernels otherwise. In both cases a separate kernel updates the running
// statistics.
#include "core/ops/normalization/batch_norm.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/batch_norm/batch_norm_graphs.h"
#include "core/cuda/kernels/batch_norm/batch_norm_guard.h"
#include "core/cuda/kernels/batch_norm/native_batch_norm.h"

#include <optional>

namespace ptrain::cuda {
namespace {

std::int64_t count_rows(const TensorDesc& x) { return x.count() / x.shape[-1]; }

class BatchNormKernel final : public Kernel {
 public:
  BatchNormKernel(const KernelContext& context, Device& device)
      : attrs_(context.op_as<BatchNorm>().attrs()),
        native_(device, context.inputs[BatchNorm::x].dtype, count_rows(context.inputs[BatchNorm::x]),
                context.inputs[BatchNorm::x].shape[-1]),
        has_residual_(has_input(context.inputs, BatchNorm::residual)) {
    if (!attrs_.training) return;
    masked_ = context.outputs.size() > BatchNorm::mask;
    persistent_ = plan_persistent(context, device, {attrs_.activation, masked_}, [&] {
      return batch_norm_graph(device.cudnn_target(), attrs_, context.inputs[BatchNorm::x], has_residual_);
    });
    if (persistent_.planned && context.options.batch_norm_guard_every > 0) {
      const TensorDesc& x = context.inputs[BatchNorm::x];
      guard_.emplace(device, x.dtype, count_rows(x), x.shape[-1], attrs_.epsilon,
                     context.options.batch_norm_guard_every);
    }
  }

  std::size_t workspace_bytes() const override {
    const std::size_t guard = guard_ ? guard_->workspace_bytes() : 0;
    return persistent_.planned ? std::max(persistent_.planned->workspace_bytes(), guard) : native_.workspace_bytes();
  }
  std::optional<GuardFinding> guard_finding() const override {
    return guard_ ? std::optional(guard_->finding()) : std::nullopt;
  }
  KernelRecord record() const override {
    return attrs_.training ? record_batch_norm(persistent_) : KernelRecord{"native:inference"};
  }

  void run(const KernelArgs& args) override {
    const auto* running_mean = static_cast<const float*>(args.inputs[BatchNorm::running_mean]);
    if (!attrs_.training) {
      const auto* variance = static_cast<const float*>(args.inputs[BatchNorm::running_var]);
      native_.infer(forward_tensors(args), running_mean, variance, args.workspace);
      return;
    }
    if (persistent_.planned) {
      std::vector<void*>& p = pointers_;
      p.assign({args.inputs[BatchNorm::x], args.inputs[BatchNorm::gamma], args.inputs[BatchNorm::beta]});
      if (has_residual_) p.push_back(args.inputs[BatchNorm::residual]);
      p.insert(p.end(), args.outputs.begin(), args.outputs.end());
      persistent_.planned->run(p, args.workspace);
      if (guard_) {
        guard_->run(p[0], statistic(args, BatchNorm::saved_mean), statistic(args, BatchNorm::saved_invstd),
                    args.workspace);
      }
    } else {
      native_.train(forward_tensors(args), args.workspace);
    }
    native_.update_running(statistic(args, BatchNorm::saved_mean), statistic(args, BatchNorm::saved_invstd),
                           attrs_.epsilon, attrs_.momentum, static_cast<float*>(args.inputs[BatchNorm::running_mean]),
                           static_cast<float*>(args.inputs[BatchNorm::running_var]));
  }

 private:
  NativeBatchNorm::Forward forward_tensors(const KernelArgs& args) const {
    return {args.inputs[BatchNorm::x],
            static_cast<const float*>(args.inputs[BatchNorm::gamma]),
            static_cast<const float*>(args.inputs[BatchNorm::beta]),
            has_residual_ ? args.inputs[BatchNorm::residual] : nullptr,
            attrs_.activation,
            attrs_.epsilon,
            args.outputs[BatchNorm::y],
            masked_ ? static_cast<std::uint8_t*>(args.outputs[BatchNorm::mask]) : nullptr,
            attrs_.training ? statistic(args, BatchNorm::saved_mean) : nullptr,
            attrs_.training ? statistic(args, BatchNorm::saved_invstd) : nullptr};
  }
  static float* statistic(const KernelArgs& args, BatchNorm::Output output) {
    return static_cast<float*>(args.outputs[output]);
  }

  BatchNorm::Attributes attrs_;
  NativeBatchNorm native_;
  bool has_residual_;
  bool masked_ = false;
  Planning persistent_;
  std::optional<BatchNormGuard> guard_;  // for the persistent kernel
  std::vector<void*> pointers_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm(const KernelContext& context, Device& device) {
  return std::make_unique<BatchNormKernel>(context, device);
}

}  // namespace ptrain::cuda

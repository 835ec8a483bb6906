#include "core/ops/training/loss_gradient.h"

#include "core/cpu/cpu_kernels.h"
#include "core/ops/training/loss_scale_update.h"

namespace ptrain::cpu {
namespace {

class LossGradientKernel final : public Kernel {
 public:
  explicit LossGradientKernel(const KernelContext& context) : factor_(context.op_as<LossGradient>().factor()) {}

  void run(const KernelArgs& args) override {
    const auto* scale = static_cast<const float*>(args.inputs[0]);
    *static_cast<float*>(args.outputs[0]) = factor_ * (scale == nullptr ? 1.0f : scale[LossScaleState::scale]);
  }

 private:
  float factor_;
};

}  // namespace

std::unique_ptr<Kernel> make_loss_gradient(const KernelContext& context) {
  return std::make_unique<LossGradientKernel>(context);
}

}  // namespace ptrain::cpu

#include "core/ops/training/loss_scale_update.h"

#include "core/cpu/cpu_kernels.h"

namespace ptrain::cpu {
namespace {

class LossScaleUpdateKernel final : public Kernel {
 public:
  explicit LossScaleUpdateKernel(const KernelContext& context) : settings_(context.op_as<LossScaleUpdate>().attrs()) {}

  void run(const KernelArgs& args) override {
    const auto* norm = static_cast<const float*>(args.inputs[0]);
    update_loss_scale(static_cast<float*>(args.inputs[1]), norm[1] != 0.0f, settings_);
  }

 private:
  LossScaleAttributes settings_;
};

}  // namespace

std::unique_ptr<Kernel> make_loss_scale_update(const KernelContext& context) {
  return std::make_unique<LossScaleUpdateKernel>(context);
}

}  // namespace ptrain::cpu

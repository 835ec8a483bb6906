#include "core/ops/training/loss_scale_update.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"

namespace ptrain::cuda {
namespace {

__global__ void update_kernel(const float* norm, float* state, LossScaleAttributes attributes) {
  update_loss_scale(state, norm[1] != 0.0f, attributes);
}

class LossScaleUpdateKernel final : public Kernel {
 public:
  LossScaleUpdateKernel(const KernelContext& context, Device& device)
      : device_(device), settings_(context.op_as<LossScaleUpdate>().attrs()) {}

  void run(const KernelArgs& args) override {
    launch(update_kernel, 1, 1, device_, static_cast<const float*>(args.inputs[0]), static_cast<float*>(args.inputs[1]),
           settings_);
  }

 private:
  Device& device_;
  LossScaleAttributes settings_;
};

}  // namespace

std::unique_ptr<Kernel> make_loss_scale_update(const KernelContext& context, Device& device) {
  return std::make_unique<LossScaleUpdateKernel>(context, device);
}

}  // namespace ptrain::cuda

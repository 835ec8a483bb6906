#include "core/ops/training/loss_gradient.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/ops/training/loss_scale_update.h"

namespace ptrain::cuda {
namespace {

__global__ void loss_gradient_kernel(const float* scale, float factor, float* seed) {
  *seed = factor * (scale == nullptr ? 1.0f : scale[LossScaleState::scale]);
}

class LossGradientKernel final : public Kernel {
 public:
  LossGradientKernel(const KernelContext& context, Device& device)
      : device_(device), factor_(context.op_as<LossGradient>().factor()) {}

  void run(const KernelArgs& args) override {
    launch(loss_gradient_kernel, 1, 1, device_, static_cast<const float*>(args.inputs[0]), factor_,
           static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  float factor_;
};

}  // namespace

std::unique_ptr<Kernel> make_loss_gradient(const KernelContext& context, Device& device) {
  return std::make_unique<LossGradientKernel>(context, device);
}

}  // namespace ptrain::cuda

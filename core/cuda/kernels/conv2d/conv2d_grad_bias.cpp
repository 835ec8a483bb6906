// Gradient of a convolution with respect to its bias: the sums over all pixels.
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/columns.h"
#include "core/ops/image/conv2d.h"

namespace ptrain::cuda {
namespace {

class Conv2dGradBiasKernel final : public Kernel {
 public:
  Conv2dGradBiasKernel(const TensorDesc& dy, Device& device)
      : dtype_(dy.dtype), sums_(device, dy.count() / dy.shape[3], dy.shape[3]) {}

  std::size_t workspace_bytes() const override { return sums_.workspace_bytes(); }
  void run(const KernelArgs& args) override {
    sums_.run(dtype_, args.inputs[0], DType::f32, args.outputs[0], args.workspace);
  }

 private:
  DType dtype_;
  ColumnSums sums_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d_grad_bias(const KernelContext& context, Device& device) {
  return std::make_unique<Conv2dGradBiasKernel>(context.inputs[0], device);
}

}  // namespace ptrain::cuda

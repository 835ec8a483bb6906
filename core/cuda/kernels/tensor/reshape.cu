// Copies elements, or leaves them in place.
#include "core/ops/tensor/reshape.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/check.h"
#include "core/cuda/kernels/tensor/gather_elements.cuh"
#include "core/ops/tensor/broadcast.h"

namespace ptrain::cuda {
namespace {

class ReshapeKernel final : public Kernel {
 public:
  ReshapeKernel(const KernelContext& context, Device& device) : device_(device), bytes_(context.outputs[0].bytes()) {}

  void run(const KernelArgs& args) override {
    if (args.inputs[0] == args.outputs[0]) return;
    CUDA_CHECK(cudaMemcpyAsync(args.outputs[0], args.inputs[0], bytes_, cudaMemcpyDeviceToDevice, device_.stream()));
  }

 private:
  Device& device_;
  std::size_t bytes_;
};

class ExpandKernel final : public Kernel {
 public:
  ExpandKernel(const KernelContext& context, Device& device)
      : device_(device), output_(context.outputs[0]), index_(broadcast_index(context.inputs[0].shape, output_.shape)) {}

  void run(const KernelArgs& args) override { gather_elements(device_, output_, index_, args); }

 private:
  Device& device_;
  TensorDesc output_;
  StridedIndex index_;
};

}  // namespace

std::unique_ptr<Kernel> make_reshape(const KernelContext& context, Device& device) {
  return std::make_unique<ReshapeKernel>(context, device);
}
std::unique_ptr<Kernel> make_expand(const KernelContext& context, Device& device) {
  return std::make_unique<ExpandKernel>(context, device);
}

}  // namespace ptrain::cuda

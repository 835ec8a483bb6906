// Writes in order, and reads each element at its offset.
#include "core/ops/tensor/transpose.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/tensor/gather_elements.cuh"

namespace ptrain::cuda {
namespace {

class TransposeKernel final : public Kernel {
 public:
  TransposeKernel(const KernelContext& context, Device& device)
      : device_(device),
        output_(context.outputs[0]),
        index_(transposed_index(context.inputs[0].shape, context.op_as<Transpose>().order())) {}

  void run(const KernelArgs& args) override { gather_elements(device_, output_, index_, args); }

 private:
  Device& device_;
  TensorDesc output_;
  StridedIndex index_;
};

}  // namespace

std::unique_ptr<Kernel> make_transpose(const KernelContext& context, Device& device) {
  return std::make_unique<TransposeKernel>(context, device);
}

}  // namespace ptrain::cuda

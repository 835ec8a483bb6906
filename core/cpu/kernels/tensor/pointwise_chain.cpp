#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/tensor/pointwise_kernel.h"

namespace ptrain::cpu {

std::unique_ptr<Kernel> make_pointwise_chain(const KernelContext& context) {
  return std::make_unique<PointwiseKernel>(context);
}

}  // namespace ptrain::cpu

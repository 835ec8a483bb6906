#include "core/cuda/cuda_kernel_library.h"

#include "core/base/errors.h"
#include "core/cuda/cuda_kernel_registry.h"
#include "core/cuda/option_effects.h"

namespace ptrain::cuda {

std::unique_ptr<Kernel> CudaKernels::make_kernel(const KernelContext& context) {
  const CudaKernelFactory factory = find_kernel(context.op.kernel());
  if (factory == nullptr) fail("the CUDA backend has no kernel for {}", context.op.type());
  return factory(context, device_);
}

OptionEffects CudaKernels::effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const {
  return option_effects(options, kernels);
}

}  // namespace ptrain::cuda

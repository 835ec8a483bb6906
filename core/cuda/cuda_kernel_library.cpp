#include "core/cuda/cuda_kernel_library.h"

#include "core/base/errors.h"
#include "core/cuda/cuda_kernel_registry.h"
#include "core/cuda/option_effects.h"
#include "core/ops/normalization/batch_norm.h"

namespace ptrain::cuda {

std::unique_ptr<Kernel> CudaKernels::make_kernel(const KernelContext& context) {
  const CudaKernelFactory factory = find_kernel(context.op.kernel());
  if (factory == nullptr) fail("the CUDA backend has no kernel for {}", context.op.type());
  device_.make_current();
  return factory(context, device_);
}

bool CudaKernels::runs_in_place(const Op& op, const KernelOptions& options) const {
  if (!options.persistent_batch_norm) return true;
  const auto* norm = dynamic_cast<const BatchNorm*>(&op);
  return dynamic_cast<const BatchNormGrad*>(&op) == nullptr && (norm == nullptr || !norm->attrs().training);
}

OptionEffects CudaKernels::effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const {
  return option_effects(options, kernels, device_.has_fp8());
}

}  // namespace ptrain::cuda

#include "core/cuda/cuda_kernel_registry.h"

namespace ptrain::cuda {

CudaKernelFactory find_kernel(std::string_view name) {
#define PTRAIN_FIND(op) \
  if (name == #op) return make_##op;
  PTRAIN_OPS(PTRAIN_FIND)
#undef PTRAIN_FIND
  return nullptr;
}

}  // namespace ptrain::cuda

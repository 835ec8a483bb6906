#include "core/cpu/cpu_kernel_registry.h"

#include "core/cpu/cpu_kernels.h"

namespace ptrain::cpu {

KernelFactory find_kernel(std::string_view name) {
#define PTRAIN_FIND(op) \
  if (name == #op) return make_##op;
  PTRAIN_OPS(PTRAIN_FIND)
  PTRAIN_CPU_OPS(PTRAIN_FIND)
#undef PTRAIN_FIND
  return nullptr;
}

}  // namespace ptrain::cpu

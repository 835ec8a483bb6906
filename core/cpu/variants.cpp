// Selects the variant of the backend: builds for one machine have one, others have one per instruction set, which
// cmake/PtrainCpuVariants.cmake compiles from the same sources. oneDNN decides, so its ONEDNN_MAX_CPU_ISA also limits
// these kernels.
#include "core/cpu/cpu_backend.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace ptrain::cpu {

#define PTRAIN_ENTRY_OF(variant) make_backend_##variant
#define PTRAIN_ENTRY(variant) PTRAIN_ENTRY_OF(variant)

#ifdef PTRAIN_CPU_ENTRY

std::unique_ptr<Backend> PTRAIN_ENTRY(PTRAIN_CPU_VARIANT)() { return make_own_backend(); }

#elif defined(PTRAIN_CPU_VARIANTS)

std::unique_ptr<Backend> make_backend_avx512();
std::unique_ptr<Backend> make_backend_avx512_bf16();
std::unique_ptr<Backend> make_backend_amx();

std::unique_ptr<Backend> make_backend() {
  // An instruction set's value includes the bits of those that it extends.
  const auto used = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [&](dnnl::cpu_isa isa) {
    const auto needed = static_cast<unsigned>(isa);
    return (used & needed) == needed;
  };
  if (has(dnnl::cpu_isa::avx512_core_amx)) return make_backend_amx();
  if (has(dnnl::cpu_isa::avx512_core_bf16)) return make_backend_avx512_bf16();
  if (has(dnnl::cpu_isa::avx512_core)) return make_backend_avx512();
  return make_own_backend();
}

#else

std::unique_ptr<Backend> make_backend() { return make_own_backend(); }

#endif

}  // namespace ptrain::cpu

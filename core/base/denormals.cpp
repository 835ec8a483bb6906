#include "core/base/denormals.h"

#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ptrain {

void flush_denormals() {
#if defined(__SSE2__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
#elif defined(__aarch64__)
  constexpr std::uint64_t flush_to_zero = std::uint64_t{1} << 24;
  std::uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | flush_to_zero));
#endif
}

}  // namespace ptrain

// Says which variant of the backend core/cpu/variants.cpp takes, and fails where this processor and the cap that
// ONEDNN_MAX_CPU_ISA sets would have another. Every variant here is one that only notes that it was made.
#include "core/cpu/cpu_backend.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace ptrain::cpu {
namespace {
std::string_view made;
}

std::unique_ptr<Backend> make_own_backend() { return made = "avx2", nullptr; }
std::unique_ptr<Backend> make_backend_avx512() { return made = "avx512", nullptr; }
std::unique_ptr<Backend> make_backend_avx512_bf16() { return made = "avx512_bf16", nullptr; }
std::unique_ptr<Backend> make_backend_amx() { return made = "amx", nullptr; }

namespace {

/// What `cap` and the processor have in common.
std::string_view expected(std::string_view cap) {
  __builtin_cpu_init();
  if (cap == "AVX2" || !__builtin_cpu_supports("avx512bw")) return "avx2";
  if (cap == "AVX512_CORE" || !__builtin_cpu_supports("avx512bf16")) return "avx512";
  return "avx512_bf16";
}

}  // namespace
}  // namespace ptrain::cpu

int main() {
  const char* cap = std::getenv("ONEDNN_MAX_CPU_ISA");
  ptrain::cpu::make_backend();
  const std::string_view wanted = ptrain::cpu::expected(cap == nullptr ? "" : cap);
  std::printf("%s, expected %s\n", ptrain::cpu::made.data(), wanted.data());
  return ptrain::cpu::made == wanted ? 0 : 1;
}

#include "cli/spin_count.h"

// libgomp spins for milliseconds by default: alone on its cores a step is no faster for it, and beside other work
// threads that spin keep those that they wait for from their cores, so that a step takes ten times as long. 1,000
// rounds, tens of microseconds, are as fast on idle cores, and about as good as sleeping at once on busy ones
// (results/README.md).
//
// The runtime reads its variables when it is loaded, before main and before constructors of the program. Functions of
// .preinit_array run earlier, but setenv has no effect there; so an entry of the environment is replaced until main.

namespace ptrain {
namespace {

constexpr char spin_count[] = "GOMP_SPINCOUNT=1000";

char** replaced_entry = nullptr;
char* original = nullptr;

#define PTRAIN_BEFORE_SANITIZERS __attribute__((no_sanitize("address", "thread", "undefined")))

PTRAIN_BEFORE_SANITIZERS bool starts_with(const char* entry, const char* part) {
  while (*part != '\0' && *entry == *part) ++entry, ++part;
  return *part == '\0';
}

PTRAIN_BEFORE_SANITIZERS void set_spin_count(int, char**, char** environment) {
  char** slot = nullptr;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (starts_with(*entry, "GOMP_SPINCOUNT=") || starts_with(*entry, "OMP_WAIT_POLICY=")) return;  // the user's choice
    if (starts_with(*entry, "OMP_") || starts_with(*entry, "GOMP_")) continue;
    if (slot == nullptr || !starts_with(*slot, "_=")) slot = entry;  // the shell's own, else the last
  }
  if (slot == nullptr) return;
  replaced_entry = slot;
  original = *slot;
  *slot = const_cast<char*>(spin_count);
}

__attribute__((section(".preinit_array"), used)) void (*const before_libraries)(int, char**, char**) = set_spin_count;

}  // namespace

void restore_environment() {
  if (replaced_entry != nullptr && *replaced_entry == spin_count) *replaced_entry = original;
  replaced_entry = nullptr;
}

}  // namespace ptrain

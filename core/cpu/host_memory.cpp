#include "core/cpu/host_memory.h"

#include "core/base/errors.h"
#include "core/base/machine_memory.h"
#include "core/base/round_up.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ptrain::cpu {
namespace {

/// What a process takes beyond what is planned: kernels' machine code, threads' stacks, files' buffers, the rest of
/// huge pages. ResNet-18 took 12 MiB on two x86-64 cores.
constexpr std::int64_t unplanned_bytes = std::int64_t{24} << 20;

constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

void* HostMemory::allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes < huge_page) {
    memory = std::aligned_alloc(64, round_up(bytes, 64));
    if (memory != nullptr) std::memset(memory, 0, bytes);
  } else {
    memory = mmap(nullptr, round_up(bytes, huge_page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) memory = nullptr;
    if (memory != nullptr) madvise(memory, round_up(bytes, huge_page), MADV_HUGEPAGE);
  }
  if (memory == nullptr) throw OutOfMemory(fmt::format("out of memory: cannot allocate {} MiB", bytes >> 20));
  return memory;
}

void HostMemory::release(void* memory, std::size_t bytes) {
  if (bytes < huge_page) {
    std::free(memory);
  } else {
    munmap(memory, round_up(bytes, huge_page));
  }
}

std::size_t HostMemory::available() const {
  return static_cast<std::size_t>(std::max<std::int64_t>(0, available_memory_bytes() - unplanned_bytes));
}

void HostMemory::copy_to_device(void* device, const void* host, std::size_t bytes) { std::memcpy(device, host, bytes); }

void HostMemory::copy_to_host(void* host, const void* device, std::size_t bytes) { std::memcpy(host, device, bytes); }

}  // namespace ptrain::cpu

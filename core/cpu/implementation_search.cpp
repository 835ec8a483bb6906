#include "core/cpu/implementation_search.h"

#include "core/base/errors.h"
#include "core/base/round_up.h"
#include "core/exec/autotune.h"
#include "core/exec/kernel_timing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ptrain::cpu {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<void, Free>;

Buffer make_filled(const TensorDesc& desc) {
  constexpr std::size_t alignment = 64;
  const std::size_t size = round_up(std::max<std::size_t>(desc.bytes(), 1), alignment);
  Buffer buffer(std::aligned_alloc(alignment, size));
  if (buffer == nullptr) fail("out of memory while searching kernels: cannot allocate {} MiB", size >> 20);
  const std::vector<std::byte> values = benchmark_values(desc.dtype);
  for (std::size_t at = 0; at < desc.bytes(); at += values.size()) {
    std::memcpy(static_cast<std::byte*>(buffer.get()) + at, values.data(), std::min(values.size(), desc.bytes() - at));
  }
  return buffer;
}

}  // namespace

std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, std::vector<std::unique_ptr<Kernel>> candidates) {
  std::vector<Buffer> buffers;
  return ptrain::choose_kernel(context, std::move(candidates), *make_host_lap_timer(),
                               [&](const TensorDesc& desc) { return buffers.emplace_back(make_filled(desc)).get(); });
}

}  // namespace ptrain::cpu

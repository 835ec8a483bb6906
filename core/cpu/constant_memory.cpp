#include "core/cpu/constant_memory.h"

#include "core/base/round_up.h"
#include "core/cpu/host_memory.h"

#include <algorithm>
#include <mutex>

namespace ptrain::cpu {
namespace {

class Chunk {
 public:
  explicit Chunk(std::size_t bytes) : buffer_(memory(), bytes) {}

  /// Null where too little is left.
  std::byte* take(std::size_t bytes) {
    if (buffer_.bytes() - used_ < bytes) return nullptr;
    std::byte* const taken = buffer_.data() + used_;
    used_ += bytes;
    return taken;
  }

 private:
  static HostMemory& memory() {
    static auto& all = *new HostMemory;  // outlives what static objects keep
    return all;
  }

  DeviceBuffer buffer_;
  std::size_t used_ = 0;
};

}  // namespace

std::shared_ptr<std::byte> allocate_constant(std::size_t bytes) {
  constexpr std::size_t alignment = 64, usual_bytes = std::size_t{8} << 20;
  static std::mutex mutex;
  static std::weak_ptr<Chunk> last;
  bytes = std::max(alignment, round_up(bytes, alignment));
  const std::lock_guard lock(mutex);
  std::shared_ptr<Chunk> chunk = last.lock();
  std::byte* taken = chunk ? chunk->take(bytes) : nullptr;
  if (taken == nullptr) {
    chunk = std::make_shared<Chunk>(std::max(bytes, usual_bytes));
    taken = chunk->take(bytes);
    if (bytes < usual_bytes) last = chunk;
  }
  return {std::move(chunk), taken};
}

}  // namespace ptrain::cpu

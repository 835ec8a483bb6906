#include "core/exec/device_memory.h"

#include "core/base/errors.h"

#include <vector>

namespace ptrain {
namespace {

/// Copies at once where copy_to_host waits for the device anyway.
class ImmediateReadback final : public Readback {
 public:
  ImmediateReadback(DeviceMemory& memory, std::size_t bytes) : memory_(memory), value_(bytes) {}

  void start(const void* source) override { memory_.copy_to_host(value_.data(), source, value_.size()); }
  std::span<const std::byte> finish() override { return value_; }

 private:
  DeviceMemory& memory_;
  std::vector<std::byte> value_;
};

}  // namespace

std::unique_ptr<Readback> DeviceMemory::make_readback(std::size_t bytes) {
  return std::make_unique<ImmediateReadback>(*this, bytes);
}

void require_available(const DeviceMemory& memory, std::int64_t bytes, std::string_view what, std::string_view remedy) {
  const auto available = static_cast<std::int64_t>(memory.available());
  if (bytes <= available) return;
  throw OutOfMemory(
      fmt::format("{} needs {} MiB, but {} MiB are available: {}", what, bytes >> 20, available >> 20, remedy));
}

}  // namespace ptrain

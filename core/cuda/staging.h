// Copies between pageable host memory and the device through pinned memory, in the device's stream.
#pragma once

#include "core/cuda/device.h"

#include <array>
#include <cstddef>

namespace ptrain::cuda {

/// A ring of pinned blocks: the next block is filled while the last one is still on its way.
class Staging {
 public:
  explicit Staging(Device& device);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Returns when `host` may be overwritten; the data arrives in stream order.
  void to_device(void* device, const void* host, std::size_t bytes);
  /// Returns when the data is there.
  void to_host(void* host, const void* device, std::size_t bytes);

 private:
  static constexpr std::size_t block_bytes = std::size_t{16} << 20;

  struct Block {
    std::byte* memory = nullptr;
    cudaEvent_t done = nullptr;
  };

  Block& next_free();

  Device& device_;
  std::array<Block, 4> blocks_;
  std::size_t next_ = 0;
};

}  // namespace ptrain::cuda

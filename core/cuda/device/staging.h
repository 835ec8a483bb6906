// Copies between pageable host memory and the device.
#pragma once

#include "core/cuda/device/device.h"

#include <cstddef>
#include <deque>

namespace ptrain::cuda {

/// Data for the device is copied in blocks: into pinned memory at once, from there to a device block on a separate
/// stream while earlier work computes, and to its destination in the device's stream, in order. So a step's inputs are
/// transferred during the step before. Blocks are allocated on demand up to a limit; beyond it the host waits.
class Staging {
 public:
  explicit Staging(const Device& device);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Returns when `host` may be overwritten.
  void to_device(void* device, const void* host, std::size_t bytes);
  /// Returns when the copy is complete.
  void to_host(void* host, const void* device, std::size_t bytes);

 private:
  static constexpr std::size_t block_bytes = std::size_t{4} << 20;
  static constexpr std::size_t most_blocks = 32;

  struct Block {
    std::byte* pinned = nullptr;
    std::byte* device = nullptr;
    cudaEvent_t arrived = nullptr;  // data is in the device's block
    cudaEvent_t done = nullptr;     // block is free again
  };

  Block make_block();
  Block& next_free();

  const Device& device_;
  cudaStream_t copies_ = nullptr;
  std::deque<Block> blocks_;  // most recently used at the back
};

}  // namespace ptrain::cuda

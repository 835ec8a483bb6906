// Copies between pageable host memory and the device.
#pragma once

#include "core/cuda/device/device.h"

#include <cstddef>
#include <deque>

namespace ptrain::cuda {

/// To the device data goes in blocks: into pinned memory at once, from there to a block on the device in a stream of
/// its own, while earlier work still computes, and to its place in the device's stream, in order. So a step's inputs
/// travel while the step before it runs. Blocks are made as they are needed, up to a bound; beyond it the host waits.
class Staging {
 public:
  explicit Staging(const Device& device);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Returns when `host` may be overwritten.
  void to_device(void* device, const void* host, std::size_t bytes);
  /// Returns when the data is there.
  void to_host(void* host, const void* device, std::size_t bytes);

 private:
  static constexpr std::size_t block_bytes = std::size_t{4} << 20;
  static constexpr std::size_t most_blocks = 32;

  struct Block {
    std::byte* pinned = nullptr;
    std::byte* device = nullptr;
    cudaEvent_t arrived = nullptr;  // on the device's block
    cudaEvent_t done = nullptr;     // free again
  };

  Block make_block();
  Block& next_free();

  const Device& device_;
  cudaStream_t copies_ = nullptr;
  std::deque<Block> blocks_;  // the one used last is at the back
};

}  // namespace ptrain::cuda

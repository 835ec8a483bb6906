// Trials of candidate implementations: device memory that nothing else uses, and what a launch on it takes.
#pragma once

#include "core/cuda/device.h"

#include <cstddef>
#include <functional>
#include <utility>

namespace ptrain::cuda {

class ScratchMemory {
 public:
  /// Filled with small finite numbers, whatever dtype they are read as. Throws OutOfMemory.
  ScratchMemory(const Device& device, std::size_t bytes);
  ScratchMemory(ScratchMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  ScratchMemory& operator=(ScratchMemory&&) = delete;
  ~ScratchMemory();

  void* data() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

/// Seconds of device time that `launch` takes: the median of a few runs after one that warms up; of that one alone when
/// it is far behind `to_beat`. Waits for the device.
double median_seconds(const Device& device, const std::function<void()>& launch, double to_beat);

}  // namespace ptrain::cuda

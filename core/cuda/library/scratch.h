// Device memory that candidates of a search are tried on.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device/device.h"

#include <cstddef>
#include <utility>

namespace ptrain::cuda {

class ScratchMemory {
 public:
  /// Filled with trial_values. Throws OutOfMemory.
  ScratchMemory(const Device& device, std::size_t bytes, DType dtype);
  ScratchMemory(ScratchMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  ScratchMemory& operator=(ScratchMemory&&) = delete;
  ~ScratchMemory();

  void* data() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

}  // namespace ptrain::cuda

// Device memory for the candidates of a search.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device/device.h"
#include "core/cuda/library/tensor_layout.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace ptrain::cuda {

class ScratchMemory {
 public:
  /// Filled with benchmark_values. Throws OutOfMemory.
  ScratchMemory(const Device& device, std::size_t bytes, DType dtype);
  ScratchMemory(ScratchMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  ScratchMemory& operator=(ScratchMemory&&) = delete;
  ~ScratchMemory();

  void* data() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

/// Scratch memory for all tensors that a graph is bound to.
class ScratchTensors {
 public:
  ScratchTensors(const Device& device, std::span<const TensorLayout> bound) {
    for (const TensorLayout& layout : bound) {
      pointers_.push_back(memory_.emplace_back(device, layout.span_bytes(), layout.dtype).data());
    }
  }

  std::span<void* const> pointers() const { return pointers_; }

 private:
  std::vector<ScratchMemory> memory_;
  std::vector<void*> pointers_;
};

}  // namespace ptrain::cuda

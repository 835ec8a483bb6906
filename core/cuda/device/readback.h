// Copies a few values to the host while the device continues.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/device_memory.h"

namespace ptrain::cuda {

class PinnedReadback final : public Readback {
 public:
  PinnedReadback(const Device& device, std::size_t bytes);
  ~PinnedReadback() override;

  void start(const void* source) override;
  std::span<const std::byte> finish() override;

 private:
  const Device& device_;
  std::size_t bytes_;
  std::byte* pinned_ = nullptr;
  cudaEvent_t arrived_ = nullptr;
};

}  // namespace ptrain::cuda

// Device memory of a GPU.
#pragma once

#include "core/cuda/device/staging.h"
#include "core/exec/device_memory.h"

namespace ptrain::cuda {

class GpuMemory final : public DeviceMemory {
 public:
  explicit GpuMemory(const Device& device) : device_(device), staging_(device) {}

  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) override;
  std::size_t available() const override;
  ProcessMemory usage() const override { return usage_; }
  void restart_peak() override { usage_.peak_resident_bytes = usage_.resident_bytes; }
  void copy_to_device(void* device, const void* host, std::size_t bytes) override {
    staging_.to_device(device, host, bytes);
  }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    staging_.to_host(host, device, bytes);
  }
  bool host_reads_device() const override { return false; }
  std::unique_ptr<Readback> make_readback(std::size_t bytes) override;

 private:
  const Device& device_;
  Staging staging_;
  ProcessMemory usage_;  // tensors, without the context and the libraries' memory
};

}  // namespace ptrain::cuda

// The host's memory in the role of device memory.
#pragma once

#include "core/exec/device_memory.h"

namespace ptrain::cpu {

class HostMemory final : public DeviceMemory {
 public:
  /// Large buffers are mapped on huge pages where the system grants them: fewer page faults and TLB misses.
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) override;
  std::size_t available() const override;
  void copy_to_device(void* device, const void* host, std::size_t bytes) override;
  void copy_to_host(void* host, const void* device, std::size_t bytes) override;
  bool host_reads_device() const override { return true; }
};

}  // namespace ptrain::cpu

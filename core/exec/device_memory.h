// Device memory: allocation, and copies to and from it.
#pragma once

#include "core/base/process_memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace ptrain {

/// Repeated copies of one small value to the host.
class Readback {
 public:
  virtual ~Readback() = default;
  /// Copies the value of `source` after all work enqueued so far.
  virtual void start(const void* source) = 0;
  /// The value of the last start(); waits for it.
  virtual std::span<const std::byte> finish() = 0;
};

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Device memory, zeroed, aligned to at least 64 bytes. Throws OutOfMemory when there is not enough.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) = 0;
  /// Bytes that can still be allocated.
  virtual std::size_t available() const = 0;
  /// This process's use of the memory that a run needs, now and at peak: resident memory on the CPU, allocations on a
  /// device.
  virtual ProcessMemory usage() const { return process_memory(); }
  /// Restarts the peak of usage(), where possible.
  virtual void restart_peak() { restart_process_memory_peak(); }
  virtual void copy_to_device(void* device, const void* host, std::size_t bytes) = 0;
  /// Waits for the work that writes the data.
  virtual void copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  /// Whether the host can read and write device memory in place.
  virtual bool host_reads_device() const = 0;
  /// For values of `bytes`. The memory outlives it.
  virtual std::unique_ptr<Readback> make_readback(std::size_t bytes);
};

/// Throws OutOfMemory, naming `what` and the remedy, unless `bytes` can still be allocated.
void require_available(const DeviceMemory& memory, std::int64_t bytes, std::string_view what, std::string_view remedy);

/// Device memory that is released with its owner.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceMemory& device, std::size_t bytes)
      : device_(&device), memory_(bytes == 0 ? nullptr : device.allocate(bytes)), bytes_(bytes) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (memory_ != nullptr) device_->release(memory_, bytes_);
  }

  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  DeviceMemory* device_ = nullptr;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ptrain

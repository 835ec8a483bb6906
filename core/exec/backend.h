// What the executor needs of a device: memory, copies and kernels.
#pragma once

#include "core/base/process_memory.h"
#include "core/exec/kernel.h"
#include "core/exec/rate_size.h"
#include "core/exec/sensors.h"
#include "core/io/image_decoder.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace ptrain {

/// A run of launches whose order and pointers never change, repeated step after step.
class LaunchSequence {
 public:
  virtual ~LaunchSequence() = default;
  /// Does what `enqueue` does; a backend may record its launches and replay the record from then on.
  virtual void run(const std::function<void()>& enqueue) { enqueue(); }
  /// Whether later runs only do again what the last one did: nothing is left to be set up or recorded.
  virtual bool steady() const { return true; }
};

/// A copy of one small value to the host, made again and again.
class Readback {
 public:
  virtual ~Readback() = default;
  /// Copies what `source` will hold when all work enqueued so far has run.
  virtual void start(const void* source) = 0;
  /// The value of the last start(); waits for it.
  virtual std::span<const std::byte> finish() = 0;
};

/// Times launches one after the other, on the device's own clock.
class LapTimer {
 public:
  virtual ~LapTimer() = default;
  /// The first lap begins with what is enqueued next.
  virtual void start() = 0;
  /// A lap ends, and the next begins, behind all work enqueued so far.
  virtual void lap() = 0;
  /// Of every lap since start(); waits for the last.
  virtual std::span<const double> seconds() = 0;
  /// How long a trial keeps the device busy before it measures: an idle GPU's clocks rise under load only.
  virtual double warm_up_seconds() const { return 0; }
};

/// Where kernels run at once, the host's clock is the device's.
std::unique_ptr<LapTimer> make_host_lap_timer();

/// What became of an option, with a reason where that is not what was asked for, or deserves a word.
template <typename Value>
struct OptionEffect {
  Value value = {};
  std::string reason = {};
};

/// What became of those of KernelOptions that the report accounts for.
struct OptionEffects {
  OptionEffect<bool> exhaustive_search;
  OptionEffect<bool> persistent_batch_norm;
  OptionEffect<std::size_t> workspace_limit;
};

/// A device that computes beside the host.
struct DeviceInfo {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string compute_capability;  // "9.0"
};

/// What a run's environment holds of a backend.
struct BackendInfo {
  std::vector<DeviceInfo> devices;                  // none where the host computes
  std::map<std::string, std::string> versions;      // of libraries and drivers
  std::map<std::string, std::string> files;         // where those lie that a backend found when the program started
  std::map<std::string, std::string> missing = {};  // of libraries that were not found: for what, and how to get them
};

/// How a device's kernels multiply 8-bit integers. saturating: pairs of products are added in 16 bits, which hold them
/// where weights stay within 64 (processors without VNNI).
enum class Int8Arithmetic { none, saturating, exact };

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // "cpu", "cuda"
  /// The libraries that compute, with versions: "oneDNN 3.2.0".
  virtual std::string library() const = 0;
  /// The low precision that AMP's dtype auto stands for.
  virtual DType preferred_low_precision() const = 0;
  /// Throws Error{failed} naming the op when no kernel can run it.
  virtual std::unique_ptr<Kernel> make_kernel(const KernelContext& context) = 0;
  virtual BackendInfo info() const { return {}; }
  /// What went another way than planned since the last call, a line each: the run's notes.
  virtual std::vector<std::string> take_notes() { return {}; }
  /// What `options` came to in a run with these kernels (none: it never got that far).
  virtual OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const = 0;
  /// All-reduces of device memory among the ranks that `host` reaches; both outlive them, as plans with them must not.
  /// The host's own where it reads device memory.
  virtual std::shared_ptr<Collectives> make_collectives(HostCollectives& host);
  /// Whether its batch norms can take their statistics over all ranks.
  virtual bool syncs_batch_norm() const { return false; }
  /// Whether it has kernels that may make it worth while to fuse norms into convolutions.
  virtual bool fuses_convolutions() const { return false; }
  /// What it has for op_list.h's 8-bit ops.
  virtual Int8Arithmetic int8_arithmetic() const { return Int8Arithmetic::none; }
  /// What exhaustive searches chose on this device.
  virtual SearchCache& search_cache() = 0;
  /// FLOP/s of matrix products in `dtype` that the device's data sheet gives; absent where there is none to know.
  virtual std::optional<double> datasheet_peak_flops(DType, const KernelOptions&) const { return std::nullopt; }
  /// Null where the device has none. Throws Error{failed} saying why they cannot be read.
  virtual std::unique_ptr<Sensors> make_sensors() const { return nullptr; }
  /// Decoders of JPEGs; empty where the device has none. The backend outlives them. Throws Error{failed} saying why
  /// they cannot be made.
  virtual MakeImageDecoder image_decoders() { return {}; }
  /// The work of rate_size.h in 8-bit integers, on memory of its own; null where the device has no such kernel.
  virtual std::function<void()> int8_product(const ProductSize&) { return {}; }
  virtual std::function<void()> int8_convolution(const ConvolutionSize&) { return {}; }
  /// Device memory, zeroed, aligned to at least 64 bytes. Throws OutOfMemory when there is not enough.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) = 0;
  /// Bytes that can still be allocated.
  virtual std::size_t available_memory() const = 0;
  /// What this process holds of the memory that a run needs, now and at most: its resident memory on the CPU, what was
  /// allocated here on a device.
  virtual ProcessMemory memory_use() const { return process_memory(); }
  /// The peak of memory_use() counts from here on, where that can be.
  virtual void restart_memory_peak() { restart_process_memory_peak(); }
  virtual void copy_to_device(void* device, const void* host, std::size_t bytes) = 0;
  /// Waits for the work that makes the data.
  virtual void copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// What is launched until end_range() is called `name` in a profiler's timeline, where the device has one (NVTX).
  /// Ranges may lie in ranges.
  virtual void begin_range(const char* /*name*/) {}
  virtual void end_range() {}
  /// Whether Plan::run returns before the work is done, so that the next step can be prepared meanwhile.
  virtual bool runs_ahead() const { return false; }
  /// For values of `bytes`. The backend outlives it.
  virtual std::unique_ptr<Readback> make_readback(std::size_t bytes);
  /// The backend outlives it.
  virtual std::unique_ptr<LapTimer> make_lap_timer();
  virtual std::unique_ptr<LaunchSequence> make_sequence() { return std::make_unique<LaunchSequence>(); }
  /// Whether the host can read device memory where it lies.
  virtual bool host_reads_device() const = 0;
};

/// Device memory that is released with its owner.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(Backend& backend, std::size_t bytes)
      : backend_(&backend), memory_(bytes == 0 ? nullptr : backend.allocate(bytes)), bytes_(bytes) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (memory_ != nullptr) backend_->release(memory_, bytes_);
  }

  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  Backend* backend_ = nullptr;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ptrain

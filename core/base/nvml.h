// What NVIDIA's management library says of one GPU. The library comes with the driver and is loaded at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptrain {

/// One look at a GPU; what it does not tell is absent.
struct GpuSample {
  std::optional<double> watts;
  std::optional<double> joules;  // used since the driver was loaded
  std::optional<double> sm_mhz, memory_mhz;
  std::optional<double> celsius;
  std::uint64_t throttle_reasons = 0;  // bits of throttle_reasons()
};

/// Why clocks can be below their highest: name and bit. Idleness and chosen clocks are no throttling and not among
/// them.
const std::vector<std::pair<std::string_view, std::uint64_t>>& throttle_reasons();

class Nvml {
 public:
  /// The GPU at `pci_bus_id` ("0000:3b:00.0"). Throws Error{failed} when the library, one of its functions or the GPU
  /// is not there.
  explicit Nvml(const std::string& pci_bus_id, const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  GpuSample sample() const;

 private:
  struct Functions;

  std::unique_ptr<Functions> functions_;
  void* device_ = nullptr;
};

}  // namespace ptrain

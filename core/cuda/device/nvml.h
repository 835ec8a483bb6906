// Sensors of one GPU, read from NVIDIA's management library. The library comes with the driver and is loaded at run
// time.
#pragma once

#include "core/exec/sensors.h"

#include <memory>
#include <string>

namespace ptrain {

class Nvml final : public Sensors {
 public:
  /// The GPU at `pci_bus_id` ("0000:3b:00.0"). Throws Error{failed} when the library, one of its functions or the GPU
  /// is missing.
  explicit Nvml(const std::string& pci_bus_id, const char* library = "libnvidia-ml.so.1");
  ~Nvml() override;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  SensorSample sample() const override;
  DeviceCondition condition() const override;
  const Reasons& throttle_reasons() const override;

 private:
  struct Functions;
  struct OptionalFunctions;

  std::unique_ptr<Functions> functions_;
  std::unique_ptr<OptionalFunctions> optional_;
  void* device_ = nullptr;
};

}  // namespace ptrain

// Measures the properties and rates of a machine's devices.
#pragma once

#include "core/exec/backend.h"
#include "core/machine_check/checks.h"

namespace ptrain {

/// Measures for several seconds.
ProbedDevice probe_cpu(Backend& backend);

struct ProbedGpu {
  ProbedDevice device;
  ExpectedFigures defaults;          // default_expectations() for it
  std::optional<GpuReport> watched;  // sensor readings while its rates were measured
  std::string no_sensors;            // why `watched` is absent
};

/// Probes GPU `index`, which `backend` uses, for several seconds.
ProbedGpu probe_gpu(Backend& backend, int index);

/// The device's sensors; without any, null and the cause in `reason`.
std::unique_ptr<Sensors> sensors_or_reason(const Instruments& instruments, std::string& reason);

/// All checks of a probed device.
std::vector<Check> check_cpu(const ProbedDevice& cpu, const ExpectedMachine& expected);
std::vector<Check> check_gpu(const ProbedGpu& gpu, const ExpectedMachine& expected);

}  // namespace ptrain

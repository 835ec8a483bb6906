// A machine's devices as they are found, measured while they work.
#pragma once

#include "core/exec/backend.h"
#include "core/machine_check/checks.h"

namespace ptrain {

/// Measures for some seconds.
ProbedDevice probe_cpu(Backend& backend);

struct ProbedGpu {
  ProbedDevice device;
  ExpectedFigures usual;             // default_expectations() of it
  std::optional<GpuReport> watched;  // while its rates were measured
  std::string no_sensors;            // why `watched` is absent
};

/// GPU `index`, which `backend` is on. Measures for some seconds.
ProbedGpu probe_gpu(Backend& backend, int index);

/// The device's sensors; where there are none, null and why in `reason`.
std::unique_ptr<Sensors> sensors_or_reason(const Instruments& instruments, std::string& reason);

/// Every check of what was found.
std::vector<Check> check_cpu(const ProbedDevice& cpu, const ExpectedMachine& expected);
std::vector<Check> check_gpu(const ProbedGpu& gpu, const ExpectedMachine& expected);

}  // namespace ptrain

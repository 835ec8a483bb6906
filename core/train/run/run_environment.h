// Collects the environment for a run's report.
#pragma once

#include "core/config/device_choice.h"
#include "core/exec/backend.h"
#include "core/report/environment.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <vector>

namespace ptrain {

/// Devices for reports: name, memory_bytes and compute_capability of each.
nlohmann::json describe_devices(const std::vector<DeviceInfo>& devices);

/// The environment of a run of `ranks` on `device`; with `rates` if they were measured.
EnvironmentReport capture_run_environment(const DeviceChoice& device, std::int64_t ranks, const Backend& backend,
                                          const std::optional<DeviceRates>& rates);

}  // namespace ptrain

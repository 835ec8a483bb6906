// Opens what every command that trains or evaluates needs first: device, data and model.
#pragma once

#include "core/config/config.h"
#include "core/train/run/workload.h"

namespace ptrain {

/// `device_index`: which GPU, where the device is one. Where `config` leaves model.classes to the data it is settled.
/// Throws Error when the device is not there, the data cannot be read or model and data do not fit.
Workload open_workload(Config& config, int device_index = 0);
/// The same without a backend.
Workload open_data_and_model(Config& config);

}  // namespace ptrain

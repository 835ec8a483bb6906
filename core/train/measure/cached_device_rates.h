// The device's rates, measured once and kept beside what searches chose: every run of a machine sees the same figures.
#pragma once

#include "core/exec/rates.h"

namespace ptrain {

/// What was measured here before, else measured now and kept (in cache_directory(), by device, libraries, cap on
/// instruction sets and threads).
DeviceRates cached_device_rates(Backend& backend, const KernelOptions& options);

/// Measured now, and kept in place of what was known.
DeviceRates renew_rates(Backend& backend, const KernelOptions& options);

}  // namespace ptrain

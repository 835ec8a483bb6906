// The device's rates, measured once and cached next to the search results, so that all runs of a machine use the same
// values.
#pragma once

#include "core/exec/rates.h"

namespace ptrain {

/// The cached rates, else measured now and cached (in cache_directory(), by device, libraries, instruction set limit
/// and threads). Rates that were measured while other programs kept the cores busy count for ten minutes.
DeviceRates cached_device_rates(Backend& backend, const KernelOptions& options);

/// Measures the rates again and replaces the cached ones.
DeviceRates remeasure_rates(Backend& backend, const KernelOptions& options);

}  // namespace ptrain

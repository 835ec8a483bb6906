// How fast a device computes at best: what a run's arithmetic is measured against, and what AMP's level is chosen by.
#pragma once

#include "core/base/device_rates.h"
#include "core/exec/backend.h"

namespace ptrain {

/// FLOP/s of the best of a few matrix products in `dtype`, large enough to be bound by arithmetic; takes about 0.1 s.
double measure_peak_flops(Backend& backend, DType dtype, const KernelOptions& options);

/// Every figure of DeviceRates. Precisions are timed by turns, so that their ratios hold on a busy machine too; takes
/// about a second and leaves neither memory nor a trace in the backend's peak and search cache.
DeviceRates measure_rates(Backend& backend, const KernelOptions& options);

}  // namespace ptrain

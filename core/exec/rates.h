// Peak rates of a device: a run's arithmetic is compared with them, and AMP's level is chosen by them.
#pragma once

#include "core/base/device_rates.h"
#include "core/exec/backend.h"

namespace ptrain {

/// FLOP/s of the best of a few matrix products in `dtype`, large enough to be compute-bound; takes about 0.1 s.
double measure_peak_flops(Backend& backend, DType dtype, const KernelOptions& options);

/// Measures all of DeviceRates. Samples of the precisions are interleaved, so that their ratios hold on a busy machine
/// too; takes about a second and leaves the backend's memory, peak and search cache as they were.
DeviceRates measure_rates(Backend& backend, const KernelOptions& options);

}  // namespace ptrain

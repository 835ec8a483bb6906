// How fast the device multiplies matrices at best: what a run's arithmetic is measured against.
#pragma once

#include "core/exec/backend.h"

namespace ptrain {

/// FLOP/s of the best of a few matrix products in `dtype`, large enough to be bound by arithmetic; takes about 0.1 s.
double measure_peak_flops(Backend& backend, DType dtype, const KernelOptions& options);

}  // namespace ptrain

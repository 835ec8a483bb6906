// Opens a backend for `device: auto|cpu|cuda|cuda:N`.
#pragma once

#include "core/analysis/run_set.h"
#include "core/config/config.h"
#include "core/cuda/cuda_backend.h"
#include "core/exec/backend.h"

namespace ptrain {

/// `local_rank`: index of the GPU if none is named. `automatic` is cuda if usable, else cpu. Throws Error{failed} with
/// the reason when cuda is requested but unavailable.
std::unique_ptr<Backend> make_backend(const DeviceChoice& device, int local_rank = 0);

/// Versions of the compute libraries, and of the GPUs' driver and libraries where known.
Software installed_software();

}  // namespace ptrain

// From `device: auto|cpu|cuda|cuda:N` to a backend.
#pragma once

#include "core/analysis/run_set.h"
#include "core/config/config.h"
#include "core/cuda/cuda_backend.h"
#include "core/exec/backend.h"

namespace ptrain {

/// `local_rank`: which of the GPUs where none is named. `automatic` is cuda where it can be used, else cpu. Throws
/// Error{failed} with the reason when cuda is asked for and is not there.
std::unique_ptr<Backend> make_backend(const DeviceChoice& device, int local_rank = 0);

/// Versions of the libraries that compute here, and of the GPUs' driver and libraries where the program knows them.
Software installed_software();

}  // namespace ptrain

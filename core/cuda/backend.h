// NVIDIA GPUs as a backend.
#pragma once

#include "core/exec/backend.h"

namespace ptrain::cuda {

/// Why `device: cuda` cannot be used here; empty when it can.
std::string unavailable_reason();
/// Throws Error{failed} with unavailable_reason().
std::unique_ptr<Backend> make_backend();

}  // namespace ptrain::cuda

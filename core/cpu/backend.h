// The CPU as a backend: oneDNN and own vectorised kernels on the calling thread's cores.
#pragma once

#include "core/exec/backend.h"

namespace ptrain::cpu {

std::unique_ptr<Backend> make_backend();

}  // namespace ptrain::cpu

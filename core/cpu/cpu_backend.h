// The CPU as a backend: oneDNN and own vectorised kernels on the calling thread's cores.
#pragma once

#include "core/exec/backend.h"

namespace ptrain::cpu {

/// Under which BackendInfo::versions say what own kernels are compiled for: "native", or a variant's name.
inline constexpr const char* own_kernels_entry = "CPU kernels";

/// With the own kernels that run fastest here, of those that this build has (variants.cpp).
std::unique_ptr<Backend> make_backend();

/// With the own kernels that are compiled together with this function.
std::unique_ptr<Backend> make_own_backend();

}  // namespace ptrain::cpu

// The CPU backend: oneDNN and vectorised kernels of this project on the calling thread's cores.
#pragma once

#include "core/exec/backend.h"

namespace ptrain::cpu {

/// The key in BackendInfo::versions for the instruction set of the kernels: "native", or a variant's name.
inline constexpr const char* own_kernels_entry = "CPU kernels";

/// The variant of this build whose kernels run fastest on this processor (variants.cpp).
std::unique_ptr<Backend> make_backend();

/// The variant that is compiled together with this function.
std::unique_ptr<Backend> make_own_backend();

}  // namespace ptrain::cpu

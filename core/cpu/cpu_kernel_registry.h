// Maps ops to CPU kernels.
#pragma once

#include "core/exec/kernel.h"

#include <string_view>

namespace ptrain::cpu {

/// By `Op::kernel`; nullptr when the CPU backend has no such kernel.
KernelFactory find_kernel(std::string_view name);

}  // namespace ptrain::cpu

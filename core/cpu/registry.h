// Which CPU kernel runs which op.
#pragma once

#include "core/exec/kernel.h"

#include <string_view>
#include <vector>

namespace ptrain::cpu {

/// nullptr when the CPU backend has no kernel for `op_type`.
KernelFactory find_kernel(std::string_view op_type);
/// Every op type that has a CPU kernel.
std::vector<std::string_view> kernel_names();

}  // namespace ptrain::cpu

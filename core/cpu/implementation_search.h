// Exhaustive search: times the candidate implementations of one kernel on scratch memory and keeps the fastest.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

/// As in core/exec/autotune.h, timed on the host.
std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, std::vector<std::unique_ptr<Kernel>> candidates);

}  // namespace ptrain::cpu

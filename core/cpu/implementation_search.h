// Exhaustive search: the candidate implementations of one kernel timed on scratch memory, the fastest kept.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

/// core/exec/kernel_choice.h's, timed on the host.
std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, std::vector<std::unique_ptr<Kernel>> candidates);

}  // namespace ptrain::cpu

// What the options of a run came to, read off the kernels that it ran with.
#pragma once

#include "core/exec/kernel_library.h"

namespace ptrain::cuda {

/// `kernels`: of all nodes of the training plans.
OptionEffects option_effects(const KernelOptions& options, std::span<const KernelRecord> kernels);

}  // namespace ptrain::cuda

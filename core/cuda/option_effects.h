// The effects of a run's options, derived from its kernels.
#pragma once

#include "core/exec/kernel_library.h"

namespace ptrain::cuda {

/// `kernels`: of all nodes of the training plans.
OptionEffects option_effects(const KernelOptions& options, std::span<const KernelRecord> kernels);

}  // namespace ptrain::cuda

// The effects of a run's options, derived from its kernels.
#pragma once

#include "core/exec/kernel_library.h"

namespace ptrain::cuda {

/// `kernels`: of all nodes of the training plans; `has_fp8`: as Device::has_fp8().
OptionEffects option_effects(const KernelOptions& options, std::span<const KernelRecord> kernels, bool has_fp8);

}  // namespace ptrain::cuda

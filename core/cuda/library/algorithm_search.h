// Exhaustive search among kernels that compute the same result with different launches.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/kernel.h"

namespace ptrain::cuda {

/// As in core/exec/autotune.h, timed on the device.
std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, const Device& device,
                                      std::vector<std::unique_ptr<Kernel>> candidates);

}  // namespace ptrain::cuda

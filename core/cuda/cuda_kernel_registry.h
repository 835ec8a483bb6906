// Maps ops to CUDA kernels.
#pragma once

#include "core/cuda/cuda_kernels.h"

#include <string_view>

namespace ptrain::cuda {

/// By `Op::kernel`; nullptr when the CUDA backend has no such kernel.
CudaKernelFactory find_kernel(std::string_view name);

}  // namespace ptrain::cuda

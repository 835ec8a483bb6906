// Which CUDA kernel runs which op.
#pragma once

#include "core/cuda/kernels.h"

#include <string_view>
#include <vector>

namespace ptrain::cuda {

/// nullptr when the CUDA backend has no kernel for `op_type`.
CudaKernelFactory find_kernel(std::string_view op_type);
/// Every op type that has a CUDA kernel.
std::vector<std::string_view> kernel_names();

}  // namespace ptrain::cuda

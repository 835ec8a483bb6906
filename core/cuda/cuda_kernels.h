// The CUDA kernel factories, one per op of op_list.h, each defined in kernels/<op>.cu, or in kernels/<op>.cpp where it
// only calls a library.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/kernel.h"
#include "core/ops/op_list.h"

namespace ptrain::cuda {

/// The device outlives the kernel.
using CudaKernelFactory = std::unique_ptr<Kernel> (*)(const KernelContext&, Device&);

#define PTRAIN_DECLARE(op) std::unique_ptr<Kernel> make_##op(const KernelContext& context, Device& device);
PTRAIN_OPS(PTRAIN_DECLARE)
#undef PTRAIN_DECLARE

}  // namespace ptrain::cuda

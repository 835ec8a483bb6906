// Kernels of the ops that exchange between ranks, the same on every backend: they pass pointers to the collectives.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain {

/// Null for other ops. Throws std::logic_error when the context has no collectives.
std::unique_ptr<Kernel> make_all_reduce_kernel(const KernelContext& context);

}  // namespace ptrain

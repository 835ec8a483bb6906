// The kernels of all_reduce_start and all_reduce_wait: the same on every backend, for they only hand pointers to the
// collectives.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain {

/// Null when the op is none of the two. Throws std::logic_error when it is and the context has no collectives.
std::unique_ptr<Kernel> make_all_reduce_kernel(const KernelContext& context);

}  // namespace ptrain

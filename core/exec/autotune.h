// Chooses among several kernels for one problem: the requested one, the result of an earlier search, or the fastest.
#pragma once

#include "core/exec/kernel.h"
#include "core/exec/stream.h"

#include <functional>

namespace ptrain {

/// Allocates trial memory for a tensor, filled with benchmark_values(), or for a workspace (bytes); it lives until the
/// trial ends. Null for empty ones. Throws Error where memory does not suffice.
using TrialMemory = std::function<void*(const TensorDesc&)>;

/// Takes candidates in the library's order of preference. Returns the first without exhaustive search or with one
/// candidate. Problems that were searched before (same op, attributes, descriptors and candidates) are looked up in the
/// search cache. The environment variable PTRAIN_KERNEL overrides all that: it selects the first candidate whose name
/// contains it, so that each can be tried and tested. Throws Error{failed} when there is no candidate.
std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, std::vector<std::unique_ptr<Kernel>> candidates,
                                      LapTimer& timer, const TrialMemory& memory);

}  // namespace ptrain

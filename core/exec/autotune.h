// Which of several kernels of one problem runs: the one asked for, the one kept from an earlier search, or the fastest.
#pragma once

#include "core/exec/kernel.h"
#include "core/exec/stream.h"

#include <functional>

namespace ptrain {

/// Memory of a trial's own for a tensor, filled with benchmark_values(), or for a workspace (bytes); kept until the
/// trial's end. Null where nothing is to be held. Throws Error where there is not enough.
using TrialMemory = std::function<void*(const TensorDesc&)>;

/// Candidates in the library's order of preference. Without exhaustive search, or with one candidate, returns the
/// first. Problems that were searched before (same op, attributes, descriptors and candidates) are answered from the
/// search cache. Ahead of all that, the environment variable PTRAIN_KERNEL takes the first candidate whose name it is a
/// part of, so that each can be tried and tested. Throws Error{failed} when there is no candidate.
std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, std::vector<std::unique_ptr<Kernel>> candidates,
                                      LapTimer& timer, const TrialMemory& memory);

}  // namespace ptrain

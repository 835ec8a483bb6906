// Exhaustive search: the candidate implementations of one kernel timed on scratch memory, the fastest kept.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

/// Candidates in the library's order of preference. Without exhaustive search, or with one candidate, returns the
/// first. Problems that were searched before (same op, attributes, descriptors and candidates) are answered from the
/// search cache. Ahead of all that, the environment variable PTRAIN_KERNEL takes the first candidate whose name it is a
/// part of, so that each can be tried and tested. Throws Error{failed} when there is no candidate.
std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, std::vector<std::unique_ptr<Kernel>> candidates);

}  // namespace ptrain::cpu

// A suite on each of a machine's GPUs: which of them is another axis, and whether the others work at the same time.
#pragma once

#include "core/bench/suite.h"

namespace ptrain {

/// Every case of `suite` on each of `devices` GPUs ("cuda:0", ...), alone and, where there are several, with all of
/// them at once: a process for each, started together. `visible` is this process's CUDA_VISIBLE_DEVICES, empty: none;
/// its GPUs are counted. Throws Error{usage} where the suite has an axis of devices itself.
Suite on_each_device(const Suite& suite, std::size_t devices, const std::string& visible);

}  // namespace ptrain

// A suite on each of a machine's GPUs: adds axes for the GPU, and for whether the others work at the same time.
#pragma once

#include "core/bench/suite.h"

namespace ptrain {

/// Every case of `suite` on each of `devices` GPUs ("cuda:0", ...): alone and, with several GPUs, on all of them at
/// once, one process each. `visible` is this process's CUDA_VISIBLE_DEVICES (empty: unset), whose GPUs are counted.
/// Throws Error{usage} where the suite has an axis of devices itself.
Suite on_each_device(const Suite& suite, std::size_t devices, const std::string& visible);

}  // namespace ptrain

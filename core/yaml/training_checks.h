// What keys of train contradict each other in.
#pragma once

#include "core/yaml/rejection.h"

namespace ptrain {

/// Throws Error{usage} where schedule, phases, resizing or groups of parameters contradict themselves.
void check_training(const Config& config, const Rejection& reject);

}  // namespace ptrain

// Checks the keys of train against each other.
#pragma once

#include "core/yaml/rejection.h"

namespace ptrain {

/// Throws Error{usage} for contradictions in schedule, phases, resizing or parameter groups.
void check_training(const Config& config, const Rejection& reject);

}  // namespace ptrain

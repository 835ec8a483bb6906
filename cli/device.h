// From `device: auto|cpu|cuda` to a backend.
#pragma once

#include "core/config/config.h"
#include "core/exec/backend.h"

namespace ptrain {

/// `automatic` is cuda where it can be used, else cpu. Throws Error{failed} with the reason when cuda is asked for and
/// is not there.
std::unique_ptr<Backend> make_backend(DeviceKind device);

}  // namespace ptrain

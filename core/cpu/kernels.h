// The CPU kernel factories, one per op, each defined in kernels/<op>.cpp.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {


}  // namespace ptrain::cpu

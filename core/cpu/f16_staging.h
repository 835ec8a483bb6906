// Half precision on the CPU: values are stored in f16 and computed in f32.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

/// The kernel that `factory` makes when every f16 tensor is f32, with f32 copies in the workspace around it; exactly
/// that kernel when no tensor is f16.
std::unique_ptr<Kernel> stage_f16(const KernelContext& context, KernelFactory factory);

}  // namespace ptrain::cpu

// Half precision on the CPU: values are stored in f16 and computed in f32.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

/// The kernel of `factory` for f32 tensors in place of f16 ones, with f32 copies in the workspace; the plain kernel
/// when no tensor is f16.
std::unique_ptr<Kernel> stage_f16(const KernelContext& context, KernelFactory factory);

}  // namespace ptrain::cpu

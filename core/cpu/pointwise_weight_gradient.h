// Weight gradient of 1x1 convolutions in bf16 as a matrix product on AMX tiles; oneDNN's own reaches a third of the
// forward speed there, since it cannot hide the transposition of dy.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

/// A conv2d_grad_weight kernel, or nullptr where it does not apply: no AMX, not bf16, not 1x1 without padding, or
/// channels that are not multiples of 32.
std::unique_ptr<Kernel> make_pointwise_weight_gradient(const KernelContext& context);

}  // namespace ptrain::cpu

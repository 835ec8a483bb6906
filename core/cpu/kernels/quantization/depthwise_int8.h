// Depthwise convolution of 8-bit integers, with scales, bias and activation in the same pass.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

/// A kernel for a QuantizedConv2d, or null: its filters must be of 3x3 or 5x5 and not dilated, strides 1 or 2, its
/// result 8-bit without a residual, and the processor must multiply bytes by one instruction (AVX-512 VNNI).
std::unique_ptr<Kernel> make_depthwise_int8(const KernelContext& context);

}  // namespace ptrain::cpu

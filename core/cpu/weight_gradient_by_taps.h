// Weight gradient of a convolution as one matrix product per filter tap, over just the output pixels whose input pixel
// under that tap is not padding. oneDNN multiplies the padding too, and in bf16 cannot hide the transposition of dy.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

/// A conv2d_grad_weight kernel, or nullptr where it does not apply: not compiled for AVX-512 (bf16: AVX512-BF16 or
/// AMX), fp16, groups, or channels that are not multiples of 32.
std::unique_ptr<Kernel> make_weight_gradient_by_taps(const KernelContext& context);

}  // namespace ptrain::cpu

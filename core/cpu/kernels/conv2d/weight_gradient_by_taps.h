// Weight gradient of a convolution as one matrix product per filter tap, over only the output pixels whose input pixel
// under that tap is not padding. oneDNN multiplies the padding too, and in bf16 cannot hide the transposition of dy. A
// linear layer is a convolution with one tap, whose pixels are the rows.
#pragma once

#include "core/exec/kernel.h"
#include "core/ops/image/conv2d.h"

namespace ptrain::cpu {

struct WeightGradientProblem {
  Shape x, dy;    // NHWC
  TensorDesc dw;  // KRSC
  Conv2dAttributes conv;
};

/// A kernel with inputs x and dy, both of `dtype`, and output dw; nullptr where it does not apply: not compiled for
/// AVX-512 (bf16: AVX512-BF16 or AMX), fp16, groups, or channels that are not multiples of 32.
std::unique_ptr<Kernel> make_weight_gradient_by_taps(const WeightGradientProblem& problem, DType dtype);

}  // namespace ptrain::cpu

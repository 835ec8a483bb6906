// Weight gradient of a depthwise convolution: with one filter per channel there is no matrix product to use.
#pragma once

#include "core/exec/kernel.h"
#include "core/ops/image/conv2d.h"

namespace ptrain::cpu {

/// A kernel with inputs x and dy, NHWC, and output dw; nullptr where it does not apply: groups of several channels,
/// dilation, filters other than 3x3, 5x5 or 7x7.
std::unique_ptr<Kernel> make_depthwise_weight_gradient(const TensorDesc& x, const TensorDesc& dy, const TensorDesc& dw,
                                                       const Conv2dAttributes& conv);

}  // namespace ptrain::cpu

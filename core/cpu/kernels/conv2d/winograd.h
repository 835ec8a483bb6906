// 3x3 convolutions by Winograd's minimal algorithms: tiles of outputs are computed in a transformed space with 2.25
// (2x2 tiles) or 4 times (4x4 tiles) fewer multiplications, as matrix products over the channels. All arithmetic is
// fp32; bf16 and fp16 data is widened on reading, so that both pay off where the processor is slow in them, too. Tiles
// of 2x2 may also multiply in bf16 (winograd_products.h).
#pragma once

#include "core/exec/kernel.h"
#include "core/ops/image/conv2d.h"

#include <memory>
#include <vector>

namespace ptrain::cpu {

/// A convolution, or its data gradient, which is a convolution of dy with rotated filters.
enum class FilterUse { convolution, data_gradient };

/// Inputs 0 and 1 of the kernel: data [N,H,W,C] as `data`, and the convolution's weights; output 0 as `result`. A
/// convolution may also have bias and residual, at their places in Conv2d.
struct WinogradProblem {
  FilterUse use = FilterUse::convolution;
  TensorDesc data, weights, result;
  Conv2dAttributes conv;
  Activation activation = Activation::none;
  bool constant_weights = false;
};

/// One kernel per tile size, and for bf16 data one that multiplies in bf16; none unless it is a 3x3 convolution without
/// stride and groups, with channels in multiples of 16, and dilated by at most a quarter of the image's sides.
std::vector<std::unique_ptr<Kernel>> winograd_candidates(const WinogradProblem& problem);

/// The same for the weights' gradient: inputs x and dy, output dw [K,3,3,C].
std::vector<std::unique_ptr<Kernel>> winograd_grad_weight_candidates(const TensorDesc& x, const TensorDesc& dy,
                                                                     const TensorDesc& dw,
                                                                     const Conv2dAttributes& conv);

}  // namespace ptrain::cpu

// cuDNN's graphs of convolutions with parts of batch norms (fp16 on Ampere and Hopper), and equivalent passes over the
// data around a plain convolution.
#pragma once

#include "core/cuda/library/cudnn_graph.h"
#include "core/cuda/primitives/channel_extent.h"
#include "core/ops/image/conv2d_batch_norm.h"

namespace ptrain::cuda {

/// Bound to x; scale, offset in x's dtype where `has_prologue`; w; y, sum, sum_of_squares.
CudnnGraph conv_batch_norm_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                                 const TensorDesc& w, const TensorDesc& y, bool has_prologue);
/// Bound to dy, w, x, mean, invstd, gamma, beta; dz, dgamma, dbeta, and three more outputs per channel that cuDNN
/// requires.
CudnnGraph conv_batch_norm_grad_input_graph(const CudnnTarget& target, const Conv2dAttributes& conv,
                                            const TensorDesc& dy, const TensorDesc& w, const TensorDesc& x);
/// Bound to x, scale, offset in x's dtype; dy; dw.
CudnnGraph conv_batch_norm_grad_weight_graph(const CudnnTarget& target, const Conv2dAttributes& conv,
                                             const TensorDesc& x, const TensorDesc& dy, const TensorDesc& dw);

/// Enqueues sum[c] and sum_of_squares[c] over the rows of y.
void sum_results(const Device& device, const ChannelExtent& rows, DType dtype, const void* y, ChannelSums* partial,
                 float* sum, float* sum_of_squares);

struct MaskedGradient {
  void* dz;       // a data gradient; elements where the ReLU is open stay
  const void* x;  // the norm's input
  const float *mean, *invstd, *gamma, *beta;
  float *dgamma, *dbeta;
};
/// Enqueues the mask of the ReLU after the norm, and the norm's two sums.
void mask_and_sum(const Device& device, const ChannelExtent& rows, DType dtype, const MaskedGradient& gradient,
                  ChannelSums* partial);

}  // namespace ptrain::cuda

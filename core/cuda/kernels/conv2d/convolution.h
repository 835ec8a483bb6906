// What the convolution kernels share: their cuDNN graphs, and a kernel that runs one.
#pragma once

#include "core/cuda/library/planned_graph.h"

namespace ptrain::cuda {

/// Bound to x, w, y. All in x's dtype, into which the kernel converts other weights.
CudnnGraph convolution_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                             const TensorDesc& w, const TensorDesc& y);
/// Bound to dy, w, dx; all in dy's dtype.
CudnnGraph convolution_grad_input_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& dy,
                                        const TensorDesc& w, const TensorDesc& dx);
/// Bound to x, dy, dw. dw may be f32 beside low-precision data: it is written as it was summed.
CudnnGraph convolution_grad_weight_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                                         const TensorDesc& dy, const TensorDesc& dw);

/// A kernel with two inputs and one output, in the order of the graph's bindings; input 1 is converted to the dtype of
/// input 0 in the workspace where it has another. Throws Error{failed} when cuDNN has no plan.
std::unique_ptr<Kernel> make_convolution(const KernelContext& context, Device& device,
                                         const std::function<CudnnGraph()>& build);

}  // namespace ptrain::cuda

// Shared by the convolution kernels: their cuDNN graphs, and a kernel that runs one.
#pragma once

#include "core/cuda/library/compiled_graph.h"

namespace ptrain::cuda {

/// Operations on a convolution's sums as they are stored. cuDNN has plans for tails with a bias, [K].
struct ConvolutionTail {
  bool bias = false;
  bool residual = false;  // like y
  bool relu = false;
};

/// Bound to x, w, the tail's inputs, y. All in x's dtype, into which the kernel converts other weights and biases.
CudnnGraph convolution_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                             const TensorDesc& w, const TensorDesc& y, const ConvolutionTail& tail = {});
/// Bound to dy, w, dx; all in dy's dtype.
CudnnGraph convolution_grad_input_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& dy,
                                        const TensorDesc& w, const TensorDesc& dx);
/// Bound to x, dy, dw. dw may be f32 with low-precision data: it is written without rounding.
CudnnGraph convolution_grad_weight_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                                         const TensorDesc& dy, const TensorDesc& dw);

/// A kernel with two or more inputs and one output, in the order of the graph's bindings, absent inputs left out;
/// inputs whose dtype differs from the first's are converted in the workspace. Null when cuDNN has no plan; `reason`
/// then says why.
std::unique_ptr<Kernel> try_convolution(const KernelContext& context, Device& device,
                                        const std::function<CudnnGraph()>& build, std::string& reason);
/// The same, but throws Error{failed} when cuDNN has no plan.
std::unique_ptr<Kernel> make_convolution(const KernelContext& context, Device& device,
                                         const std::function<CudnnGraph()>& build);

}  // namespace ptrain::cuda

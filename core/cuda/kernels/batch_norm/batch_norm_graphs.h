// cuDNN's fused batch norm (NormAddRelu and DReluForkDNorm), which has the persistent kernels.
#pragma once

#include "core/cuda/library/compiled_graph.h"
#include "core/ops/normalization/batch_norm.h"

namespace ptrain::cuda {

/// Training. Bound to x, gamma, beta, the residual if any, y, mean, invstd, and the mask if there is a residual.
CudnnGraph batch_norm_graph(const CudnnTarget& target, const BatchNorm::Attributes& attributes, const TensorDesc& x,
                            bool has_residual);
/// For a gradient in one part, without dy_more. Bound to dy, x, gamma, mean, invstd; the ReLU's mask if there is a
/// residual, otherwise beta, from which it is recomputed; dx, dgamma, dbeta; dresidual if any.
CudnnGraph batch_norm_grad_graph(const CudnnTarget& target, const BatchNormGrad::Attributes& attributes,
                                 const TensorDesc& x);

struct PersistentProblem {
  Activation activation = Activation::none;
  bool mask = false;  // written or read
};

/// Empty, with the reason, when persistent batch norm is off or cuDNN has no plan for the activation or shape.
Planning plan_persistent(const KernelContext& context, Device& device, const PersistentProblem& problem,
                         const std::function<CudnnGraph()>& build);
/// The record of a kernel with that planning: "persistent cudnn:eng0_...", or "native:spatial (reason)".
KernelRecord record_batch_norm(const Planning& persistent);

}  // namespace ptrain::cuda

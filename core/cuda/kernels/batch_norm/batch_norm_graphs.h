// cuDNN's fused batch norm (NormAddRelu and DReluForkDNorm), whose kernels are the persistent ones.
#pragma once

#include "core/cuda/library/compiled_graph.h"
#include "core/ops/normalization/batch_norm.h"

namespace ptrain::cuda {

/// Training. Bound to x, gamma, beta, the residual if there is one, y, mean, invstd, and the mask under a residual.
CudnnGraph batch_norm_graph(const CudnnTarget& target, const BatchNorm::Attributes& attributes, const TensorDesc& x,
                            bool has_residual);
/// Of BatchNormGrad's `inputs`. Bound to dy, x, gamma, mean, invstd; the ReLU's mask where there is a residual,
/// otherwise beta, with which it comes from x; dy_more if any; dx, dgamma, dbeta; dresidual if any.
CudnnGraph batch_norm_grad_graph(const CudnnTarget& target, const BatchNormGrad::Attributes& attributes,
                                 std::span<const TensorDesc> inputs);

struct PersistentProblem {
  Activation activation = Activation::none;
  bool mask = false;  // written or read
};

/// Empty, with the reason, when persistent batch norm is off or cuDNN has no plan for activation or shape.
Planning plan_persistent(const KernelContext& context, Device& device, const PersistentProblem& problem,
                         const std::function<CudnnGraph()>& build);
/// The record of a kernel that was planned so: "persistent cudnn:eng0_...", or "native:spatial (reason)".
KernelRecord record_batch_norm(const Planning& persistent);

}  // namespace ptrain::cuda

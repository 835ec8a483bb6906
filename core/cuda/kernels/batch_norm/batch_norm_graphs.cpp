#include "core/cuda/kernels/batch_norm/batch_norm_graphs.h"

#include "core/cuda/kernels/batch_norm/mask_order.h"

#include <fmt/format.h>

namespace ptrain::cuda {

CudnnGraph batch_norm_graph(const CudnnTarget& target, const BatchNorm::Attributes& attributes, const TensorDesc& x,
                            bool has_residual) {
  const TensorLayout data = rows_of_channels(x), channels = per_channel(x.shape[-1]);
  CudnnGraph graph(target, x.dtype);
  const auto input = graph.input(data), gamma = graph.input(channels), beta = graph.input(channels);
  const auto normalized = graph.batch_norm(input, gamma, beta, attributes.epsilon);
  auto y = normalized.y;
  if (has_residual) y = graph.add(y, graph.input(data));
  if (attributes.activation == Activation::relu) y = graph.relu(y);
  graph.output(y, data);
  graph.output(normalized.mean, channels);
  graph.output(normalized.invstd, channels);
  if (has_residual && attributes.activation == Activation::relu) {
    graph.output(graph.greater(y, graph.constant(0)), mask_layout(x));  // cuDNN has no plan for the sum's mask
  }
  return graph;
}

CudnnGraph batch_norm_grad_graph(const CudnnTarget& target, const BatchNormGrad::Attributes& attributes,
                                 const TensorDesc& x) {
  const TensorLayout data = rows_of_channels(x), channels = per_channel(x.shape[-1]);
  CudnnGraph graph(target, x.dtype);
  const auto dy = graph.input(data), input = graph.input(data), gamma = graph.input(channels);
  const auto mean = graph.input(channels), invstd = graph.input(channels);
  auto masked = dy;
  if (attributes.residual) {
    masked = graph.multiply(dy, graph.input(mask_layout(x)));
  } else if (attributes.activation == Activation::relu) {
    masked = graph.relu_grad(dy, graph.normalize(input, mean, invstd, gamma, graph.input(channels)));
  }
  const auto gradients = graph.batch_norm_grad(masked, input, gamma, mean, invstd);
  graph.output(gradients.dx, data);
  graph.output(gradients.dgamma, channels);
  graph.output(gradients.dbeta, channels);
  if (attributes.residual) graph.output(masked, data);
  return graph;
}

Planning plan_persistent(const KernelContext& context, Device& device, const PersistentProblem& problem,
                         const std::function<CudnnGraph()>& build) {
  if (!context.options.persistent_batch_norm) return {std::nullopt, "cudnn_batchnorm_spatial_persistent is off"};
  if (problem.activation != Activation::none && problem.activation != Activation::relu) {
    return {std::nullopt, fmt::format("cuDNN's cannot fuse {}", to_string(problem.activation))};
  }
  if (problem.mask && !numbers_masks_alike(device)) return {std::nullopt, "cuDNN orders the bits of masks differently"};
  // cuDNN lists 30 plans and more, and compiles each from source: half a second.
  return plan_graph(context, device, unbounded_rules(context), Search::few, build);
}

KernelRecord record_batch_norm(const Planning& persistent) {
  if (!persistent.planned) return {fmt::format("native:spatial ({})", persistent.reason), BatchNormPart::plain};
  return {"persistent " + persistent.planned->implementation(), BatchNormPart::persistent};
}

}  // namespace ptrain::cuda

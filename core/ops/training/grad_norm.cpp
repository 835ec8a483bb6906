#include "core/ops/training/grad_norm.h"

namespace ptrain {

std::vector<TensorDesc> GradNorm::infer(std::span<const TensorDesc>) const { return {{DType::f32, Shape{2}}}; }

std::vector<TensorDesc> NormOfParts::infer(std::span<const TensorDesc>) const { return {{DType::f32, Shape{2}}}; }

Cost GradNorm::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  double flops = 0;
  for (const TensorDesc& d : inputs) flops += 2.0 * static_cast<double>(d.count());
  return {flops, traffic(inputs, outputs)};
}

}  // namespace ptrain

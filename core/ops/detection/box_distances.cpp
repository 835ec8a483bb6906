#include "core/ops/detection/box_distances.h"

#include "core/ops/math/box_distribution.h"
#include "core/ops/require.h"

namespace ptrain {

Shape require_bins(const TensorDesc& bins) {
  require_floating(bins, "bins");
  const Shape& shape = bins.shape;
  require(shape.rank() == 3 && shape[2] % box_sides == 0 && shape[2] >= 2 * box_sides,
          "bins: expected [N,A,4 K] with two or more K, got {}", bins.to_string());
  return {shape[0], shape[1], box_sides};
}

std::vector<TensorDesc> BoxDistances::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  return {{DType::f32, require_bins(inputs[0])}};
}

Cost BoxDistances::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  constexpr double softmax_flops = 12;
  return {softmax_flops * static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

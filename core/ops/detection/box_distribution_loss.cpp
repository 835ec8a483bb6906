#include "core/ops/detection/box_distribution_loss.h"

#include "core/ops/detection/box_distances.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

void require_targets(std::span<const TensorDesc> inputs) {
  const Shape sides = require_bins(inputs[BoxDistributionLoss::bins]);
  require_desc(inputs[BoxDistributionLoss::targets], {DType::f32, sides}, "targets");
  require_desc(inputs[BoxDistributionLoss::weights], {DType::f32, leading_shape(sides)}, "weights");
}

constexpr double softmax_flops = 12;

}  // namespace

std::vector<TensorDesc> BoxDistributionLoss::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_targets(inputs);
  return {{DType::f32, Shape{}}, {DType::f32, Shape{}}};
}

void BoxDistributionLoss::gradient(GradientBuilder& builder) const {
  const ValueId doverlap = builder.output_gradient(overlap), ddistribution = builder.output_gradient(distribution);
  if ((doverlap == no_value && ddistribution == no_value) || !builder.needs_gradient(bins)) return;
  builder.set_input_gradient(
      bins, builder
                .emit(std::make_shared<BoxDistributionLossGrad>(),
                      {builder.input(bins), builder.input(targets), builder.input(weights), doverlap, ddistribution})
                .front());
}

Cost BoxDistributionLoss::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {softmax_flops * static_cast<double>(inputs[bins].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> BoxDistributionLossGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 4, 5);
  require_targets(inputs);
  for (const int gradient : {doverlap, ddistribution}) {
    if (has_input(inputs, gradient))
      require_desc(inputs[static_cast<std::size_t>(gradient)], {DType::f32, Shape{}}, "gradient");
  }
  return {inputs[bins]};
}

Cost BoxDistributionLossGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * softmax_flops * static_cast<double>(inputs[bins].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

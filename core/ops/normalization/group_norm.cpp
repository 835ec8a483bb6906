#include "core/ops/normalization/group_norm.h"

#include "core/ops/require.h"

namespace ptrain {

std::string GroupNorm::attributes() const {
  return fmt::format("groups={} epsilon={}", attributes_.groups, attributes_.epsilon);
}

std::vector<TensorDesc> GroupNorm::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_floating(inputs[x], "x");
  const Shape& shape = inputs[x].shape;
  require(shape.rank() >= 2, "x: expected [N,...,C], got {}", shape.to_string());
  require(attributes_.groups > 0 && shape[-1] % attributes_.groups == 0, "{} channels are not {} equal groups",
          shape[-1], attributes_.groups);
  require_channels(inputs, gamma, beta, {DType::f32, Shape{shape[-1]}});
  const TensorDesc statistics{DType::f32, Shape{shape[0], attributes_.groups}};
  return {inputs[x], statistics, statistics};
}

void GroupNorm::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(y);
  if (dy == no_value) return;
  const std::vector<ValueId> gradients =
      builder.emit(std::make_shared<GroupNormGrad>(),
                   {dy, builder.input(x), builder.input(gamma), builder.output(mean), builder.output(rstd)});
  for (int i = 0; i < 3; ++i) {
    if (builder.needs_gradient(i)) builder.set_input_gradient(i, gradients[static_cast<std::size_t>(i)]);
  }
}

Cost GroupNorm::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {7.0 * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> GroupNormGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 5, 5);
  require_floating(inputs[dy], "dy");
  require_floating(inputs[x], "x");
  const Shape& shape = inputs[x].shape;
  require_shape(inputs[dy], shape, "dy");
  const TensorDesc channels{DType::f32, Shape{shape[-1]}};
  require_desc(inputs[gamma], channels, "gamma");
  const Shape& statistics = inputs[mean].shape;
  require(statistics.rank() == 2 && statistics[0] == shape[0] && shape[-1] % statistics[1] == 0,
          "mean: expected [N,groups], got {}", inputs[mean].to_string());
  require_desc(inputs[rstd], {DType::f32, statistics}, "rstd");
  return {inputs[x], channels, channels};
}

Cost GroupNormGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {13.0 * static_cast<double>(inputs[dy].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

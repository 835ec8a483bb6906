#include "core/ops/normalization/layer_norm.h"

#include "core/ops/require.h"

namespace ptrain {

std::string LayerNorm::attributes() const { return fmt::format("epsilon={}", epsilon_); }

std::vector<TensorDesc> LayerNorm::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_floating(inputs[x], "x");
  const Shape rows = leading_shape(inputs[x].shape);
  require_desc(inputs[gamma], {DType::f32, Shape{inputs[x].shape[-1]}}, "gamma");
  require_desc(inputs[beta], {DType::f32, Shape{inputs[x].shape[-1]}}, "beta");
  return {inputs[x], {DType::f32, rows}, {DType::f32, rows}};
}

void LayerNorm::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const std::vector<ValueId> gradients =
      builder.emit(std::make_shared<LayerNormGrad>(),
                   {dy, builder.input(x), builder.input(gamma), builder.output(1), builder.output(2)});
  for (int i = 0; i < 3; ++i) {
    if (builder.needs_gradient(i)) builder.set_input_gradient(i, gradients[static_cast<std::size_t>(i)]);
  }
}

Cost LayerNorm::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {7.0 * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> LayerNormGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 5, 5);
  require_floating(inputs[dy], "dy");
  require_floating(inputs[x], "x");
  require_shape(inputs[dy], inputs[x].shape, "dy");
  const Shape rows = leading_shape(inputs[x].shape);
  const TensorDesc channel{DType::f32, Shape{inputs[x].shape[-1]}};
  require_desc(inputs[gamma], channel, "gamma");
  require_desc(inputs[mean], {DType::f32, rows}, "mean");
  require_desc(inputs[rstd], {DType::f32, rows}, "rstd");
  return {inputs[x], channel, channel};
}

Cost LayerNormGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {13.0 * static_cast<double>(inputs[dy].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/normalization/layer_scale.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

/// gamma's descriptor for data like x.
TensorDesc factors_desc(const TensorDesc& x) {
  require_floating(x, "x");
  require(x.shape.rank() >= 1, "x: expected at least one axis");
  return {DType::f32, Shape{x.shape[-1]}};
}

}  // namespace

std::vector<TensorDesc> LayerScale::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_desc(inputs[gamma], factors_desc(inputs[x]), "gamma");
  return {inputs[x]};
}

void LayerScale::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const std::vector<ValueId> gradients =
      builder.emit(std::make_shared<LayerScaleGrad>(), {dy, builder.input(x), builder.input(gamma)});
  if (builder.needs_gradient(x)) builder.set_input_gradient(x, gradients[LayerScaleGrad::dx]);
  if (builder.needs_gradient(gamma)) builder.set_input_gradient(gamma, gradients[LayerScaleGrad::dgamma]);
}

Cost LayerScale::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> LayerScaleGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_desc(inputs[gamma], factors_desc(inputs[x]), "gamma");
  require_desc(inputs[dy], inputs[x], "dy");
  return {inputs[x], inputs[gamma]};
}

Cost LayerScaleGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {3 * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

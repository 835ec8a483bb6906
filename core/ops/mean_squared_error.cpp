#include "core/ops/mean_squared_error.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

void require_predictions(const TensorDesc& predictions, const TensorDesc& targets) {
  require_floating(predictions, "predictions");
  require(predictions.shape.rank() == 2 && predictions.shape[1] == 1, "predictions: expected [B,1], got {}",
          predictions.to_string());
  require_desc(targets, {DType::f32, Shape{predictions.shape[0]}}, "targets");
}

}  // namespace

std::vector<TensorDesc> MeanSquaredError::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_predictions(inputs[predictions], inputs[targets]);
  return {{DType::f32, Shape{}}};
}

void MeanSquaredError::gradient(GradientBuilder& builder) const {
  const ValueId dloss = builder.output_gradient(0);
  if (dloss == no_value || !builder.needs_gradient(predictions)) return;
  const auto op = std::make_shared<MeanSquaredErrorGrad>();
  builder.set_input_gradient(predictions,
                             builder.emit(op, {builder.input(predictions), builder.input(targets), dloss}).front());
}

Cost MeanSquaredError::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {3.0 * static_cast<double>(inputs[predictions].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> MeanSquaredErrorGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_predictions(inputs[predictions], inputs[targets]);
  require_desc(inputs[dloss], {DType::f32, Shape{}}, "dloss");
  return {inputs[predictions]};
}

Cost MeanSquaredErrorGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2.0 * static_cast<double>(inputs[predictions].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/normalization/dropout_add_layer_norm.h"

#include "core/base/errors.h"
#include "core/ops/normalization/layer_norm.h"
#include "core/ops/require.h"

namespace ptrain {

DropoutAddLayerNorm::DropoutAddLayerNorm(DropoutAddLayerNormAttributes attributes) : OpWith(attributes) {
  invariant(attributes.dropout >= 0 && attributes.dropout < 1, "dropout outside [0, 1)");
}

std::string DropoutAddLayerNorm::attributes() const {
  std::string text = fmt::format("epsilon={}", attributes_.epsilon);
  if (attributes_.dropout > 0) text += fmt::format(" dropout={} stream={}", attributes_.dropout, attributes_.stream);
  if (attributes_.low) text += fmt::format(" low={}", to_string(*attributes_.low));
  return text;
}

std::vector<TensorDesc> DropoutAddLayerNorm::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 4, 5);
  require_floating(inputs[x], "x");
  require_shape(inputs[residual], inputs[x].shape, "residual");
  std::vector<TensorDesc> outputs = LayerNorm(attributes_.epsilon).infer(inputs.subspan(residual, 3));
  if (attributes_.dropout > 0) {
    require(inputs.size() > rng, "dropout needs rng");
    require_rng(inputs[rng]);
  }
  outputs.insert(outputs.begin(), inputs[residual]);
  if (attributes_.low) {
    require(inputs[residual].dtype == DType::f32 && is_low_precision(*attributes_.low),
            "a low-precision copy of y needs f32");
    outputs.push_back({*attributes_.low, inputs[x].shape});
  }
  return outputs;
}

void DropoutAddLayerNorm::gradient(GradientBuilder& builder) const {
  ValueId dy = builder.output_gradient(y), dy_low = attributes_.low ? builder.output_gradient(y_low) : no_value;
  if (dy == no_value) std::swap(dy, dy_low);
  if (dy == no_value) return;
  invariant(builder.output_gradient(sum) == no_value, "the sum of dropout_add_layer_norm is read by another op");
  std::vector<ValueId> inputs{dy, builder.output(sum), builder.input(gamma), builder.output(mean),
                              builder.output(rstd)};
  std::vector<ValueId> gradients;
  const DType x_dtype = builder.desc(builder.input(x)).dtype;
  if (attributes_.dropout > 0 || x_dtype != builder.desc(builder.input(residual)).dtype || dy_low != no_value) {
    const DropoutAddLayerNormGradAttributes grad{attributes_.dropout, attributes_.stream, x_dtype};
    inputs.push_back(attributes_.dropout > 0 ? builder.input(rng) : no_value);
    if (dy_low != no_value) inputs.push_back(dy_low);
    gradients = builder.emit(std::make_shared<DropoutAddLayerNormGrad>(grad), inputs);
  } else {
    gradients = builder.emit(std::make_shared<LayerNormGrad>(), inputs);
    gradients.insert(gradients.begin(), gradients.front());
  }
  for (int i = 0; i < 4; ++i) {
    if (builder.needs_gradient(i)) builder.set_input_gradient(i, gradients[static_cast<std::size_t>(i)]);
  }
}

Cost DropoutAddLayerNorm::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {9.0 * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

std::string DropoutAddLayerNormGrad::attributes() const {
  if (attributes_.dropout <= 0) return {};
  return fmt::format("dropout={} stream={}", attributes_.dropout, attributes_.stream);
}

std::vector<TensorDesc> DropoutAddLayerNormGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 5, 7);
  std::vector<TensorDesc> outputs = LayerNormGrad().infer(inputs.first(rng));
  if (inputs.size() > dy_low) {
    require_shape(inputs[dy_low], inputs[dy].shape, "dy_low");
    require(inputs[dy].dtype == DType::f32 && inputs[sum].dtype == DType::f32 && is_low_precision(inputs[dy_low].dtype),
            "dy_low needs f32 gradients and sums");
  }
  if (attributes_.dropout > 0) {
    require(inputs.size() > rng, "dropout needs rng");
    require_rng(inputs[rng]);
  }
  outputs.insert(outputs.begin(), {attributes_.x_dtype, inputs[sum].shape});
  return outputs;
}

Cost DropoutAddLayerNormGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {14.0 * static_cast<double>(inputs[dy].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

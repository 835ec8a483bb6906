#include "core/ops/quantization/quantized_linear.h"

#include "core/ops/quantization/require_int8.h"

namespace ptrain {

std::string QuantizedLinear::attributes() const {
  std::string text = Linear({attributes_.activation}).attributes();
  text += fmt::format(" x={}", attributes_.x.to_string());
  if (attributes_.y) text += fmt::format(" y={}", attributes_.y->to_string());
  return text;
}

std::vector<TensorDesc> QuantizedLinear::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 4);
  require_quantized(inputs[x], attributes_.x, "x");
  require_quantized_weights(inputs, w, w_scale, bias);
  if (attributes_.y) require_format(*attributes_.y, "y");
  const std::vector<TensorDesc> real{{DType::f32, inputs[x].shape}, {DType::f32, inputs[w].shape}};
  return {{attributes_.y ? attributes_.y->dtype : DType::f32, Linear().infer(real).front().shape}};
}

Cost QuantizedLinear::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const std::vector<TensorDesc> data{inputs[x], inputs[w]};
  return {Linear().cost(data, outputs).flops, traffic(inputs, outputs)};
}

}  // namespace ptrain

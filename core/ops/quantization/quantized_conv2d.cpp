#include "core/ops/quantization/quantized_conv2d.h"

#include "core/ops/quantization/require_int8.h"

namespace ptrain {

std::string QuantizedConv2d::attributes() const {
  std::string text = Conv2d(attributes_.conv, attributes_.activation).attributes();
  text += fmt::format(" x={}", attributes_.x.to_string());
  if (attributes_.residual) text += fmt::format(" residual={}", attributes_.residual->to_string());
  if (attributes_.y) text += fmt::format(" y={}", attributes_.y->to_string());
  return text;
}

std::vector<TensorDesc> QuantizedConv2d::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 5);
  require_quantized(inputs[x], attributes_.x, "x");
  require_quantized_weights(inputs, w, w_scale, bias);
  if (attributes_.y) require_format(*attributes_.y, "y");
  const std::vector<TensorDesc> real{{DType::f32, inputs[x].shape}, {DType::f32, inputs[w].shape}};
  const Shape shape = Conv2d(attributes_.conv).infer(real).front().shape;
  if (has_input(inputs, residual)) {
    require(attributes_.residual.has_value() == attributes_.y.has_value(),
            "residual and y: expected both in 8 bits or neither");
    require_desc(inputs[residual], {attributes_.residual ? attributes_.residual->dtype : DType::f32, shape},
                 "residual");
  }
  return {{attributes_.y ? attributes_.y->dtype : DType::f32, shape}};
}

Cost QuantizedConv2d::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const std::vector<TensorDesc> data{inputs[x], inputs[w]};
  return {Conv2d(attributes_.conv).cost(data, outputs).flops, traffic(inputs, outputs)};
}

}  // namespace ptrain

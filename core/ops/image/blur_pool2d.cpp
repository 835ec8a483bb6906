#include "core/ops/image/blur_pool2d.h"

#include "core/ops/math/blur_pool.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

constexpr double taps = 9;

Shape infer_blurred_shape(const Shape& x) {
  require(x.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  return {x[0], blurred_size(x[1]), blurred_size(x[2]), x[3]};
}

}  // namespace

std::vector<TensorDesc> BlurPool2d::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  return {{inputs[0].dtype, infer_blurred_shape(inputs[0].shape)}};
}

void BlurPool2d::gradient(GradientBuilder& builder) const {
  auto op = std::make_shared<BlurPool2dGrad>(BlurPool2dGrad::Attributes{builder.desc(builder.input(0)).shape});
  builder.set_input_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0)})[0]);
}

Cost BlurPool2d::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * taps * static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> BlurPool2dGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  require_shape(inputs[0], infer_blurred_shape(attributes_.input_shape), "dy");
  return {{inputs[0].dtype, attributes_.input_shape}};
}

Cost BlurPool2dGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * taps * static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

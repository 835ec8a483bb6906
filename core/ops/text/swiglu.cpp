#include "core/ops/text/swiglu.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

TensorDesc half_desc(const TensorDesc& x) {
  require_floating(x, "x");
  require(x.shape.rank() >= 1 && x.shape[-1] % 2 == 0, "x: expected [..., 2*H], got {}", x.to_string());
  return {x.dtype, with_last(x.shape, x.shape[-1] / 2)};
}

}  // namespace

std::vector<TensorDesc> SwiGlu::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  return {half_desc(inputs[0])};
}

void SwiGlu::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  builder.set_input_gradient(0, builder.emit(std::make_shared<SwiGluGrad>(), {builder.input(0), dy}).front());
}

Cost SwiGlu::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {5.0 * static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> SwiGluGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[dy], "dy");
  require_shape(inputs[dy], half_desc(inputs[x]).shape, "dy");
  return {inputs[x]};
}

Cost SwiGluGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {10.0 * static_cast<double>(inputs[dy].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/image/scale_channels.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

void require_factors(const TensorDesc& factors, const TensorDesc& x) {
  require_floating(x, "x");
  require(x.shape.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  require_desc(factors, {x.dtype, {x.shape[0], x.shape[3]}}, "factors");
}

}  // namespace

std::vector<TensorDesc> ScaleChannels::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_factors(inputs[factors], inputs[x]);
  return {inputs[x]};
}

void ScaleChannels::gradient(GradientBuilder& builder) const {
  const auto gradients = builder.emit(std::make_shared<ScaleChannelsGrad>(),
                                      {builder.output_gradient(0), builder.input(x), builder.input(factors)});
  if (builder.needs_gradient(x)) builder.set_input_gradient(x, gradients[ScaleChannelsGrad::dx]);
  if (builder.needs_gradient(factors)) builder.set_input_gradient(factors, gradients[ScaleChannelsGrad::dfactors]);
}

Cost ScaleChannels::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> ScaleChannelsGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_factors(inputs[factors], inputs[x]);
  require_desc(inputs[dy], inputs[x], "dy");
  return {inputs[x], inputs[factors]};
}

Cost ScaleChannelsGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {3 * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/image/conv2d_batch_norm.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

TensorDesc make_channel_desc(const TensorDesc& desc) { return {DType::f32, {desc.shape[-1]}}; }

/// A prologue multiplies, adds and applies ReLU.
double count_prologue_flops(const TensorDesc& x) { return 3 * static_cast<double>(x.count()); }

}  // namespace

std::vector<TensorDesc> Conv2dBatchNorm::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 4, 4);
  std::vector<TensorDesc> outputs = Conv2d(attributes_).infer(inputs.first(2));
  require(is_absent(inputs[scale]) == is_absent(inputs[offset]), "expected a scale and an offset, or neither");
  if (!is_absent(inputs[scale])) require_channels(inputs, scale, offset, make_channel_desc(inputs[x]));
  outputs.insert(outputs.end(), 2, make_channel_desc(outputs[0]));
  return outputs;
}

Cost Conv2dBatchNorm::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  Cost cost = Conv2d(attributes_).cost(inputs.first(2), outputs.first(1));
  if (!is_absent(inputs[scale])) cost.flops += count_prologue_flops(inputs[x]);
  cost.flops += 3 * static_cast<double>(outputs[0].count());
  return {cost.flops, traffic(inputs, outputs)};
}

std::vector<TensorDesc> Conv2dBatchNormGradInput::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 7, 7);
  std::vector<TensorDesc> outputs = Conv2dGradInput({attributes_, inputs[x].shape}).infer(inputs.first(2));
  require_desc(inputs[x], outputs[0], "x");
  require_channels(inputs, saved_mean, beta, make_channel_desc(inputs[x]));
  outputs.insert(outputs.end(), 2, make_channel_desc(inputs[x]));
  return outputs;
}

Cost Conv2dBatchNormGradInput::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const Cost cost = Conv2dGradInput({attributes_, inputs[x].shape}).cost(inputs.first(2), outputs.first(1));
  return {cost.flops + 7 * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> Conv2dBatchNormGradWeight::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 4, 4);
  require_channels(inputs, scale, offset, make_channel_desc(inputs[x]));
  return Conv2dGradWeight(attributes_).infer(inputs.first(2));
}

Cost Conv2dBatchNormGradWeight::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const Cost cost = Conv2dGradWeight(attributes_).cost(inputs.first(2), outputs);
  return {cost.flops + count_prologue_flops(inputs[x]), traffic(inputs, outputs)};
}

}  // namespace ptrain

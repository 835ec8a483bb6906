#include "core/ops/normalization/rms_norm.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

/// Checks x and gamma, and returns rstd's descriptor.
TensorDesc statistics_desc(const TensorDesc& x, const TensorDesc& gamma) {
  require_floating(x, "x");
  require(
      gamma.dtype == DType::f32 && gamma.shape.rank() == 1 && x.shape.rank() >= 1 && x.shape[-1] % gamma.shape[0] == 0,
      "gamma: expected f32 [H] whose H divides the last axis of {}, got {}", x.to_string(), gamma.to_string());
  return {DType::f32, with_last(x.shape, x.shape[-1] / gamma.shape[0])};
}

}  // namespace

std::string RmsNorm::attributes() const { return fmt::format("epsilon={}", epsilon_); }

std::vector<TensorDesc> RmsNorm::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  return {inputs[x], statistics_desc(inputs[x], inputs[gamma])};
}

void RmsNorm::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const std::vector<ValueId> gradients =
      builder.emit(std::make_shared<RmsNormGrad>(), {dy, builder.input(x), builder.input(gamma), builder.output(1)});
  for (const int i : {x, gamma}) {
    if (builder.needs_gradient(i)) builder.set_input_gradient(i, gradients[static_cast<std::size_t>(i)]);
  }
}

Cost RmsNorm::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {4.0 * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> RmsNormGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 4, 4);
  require_floating(inputs[dy], "dy");
  require_shape(inputs[dy], inputs[x].shape, "dy");
  require_desc(inputs[rstd], statistics_desc(inputs[x], inputs[gamma]), "rstd");
  return {inputs[x], inputs[gamma]};
}

Cost RmsNormGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {10.0 * static_cast<double>(inputs[dy].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

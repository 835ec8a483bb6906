#include "core/ops/normalization/batch_norm.h"

#include "core/ops/require.h"

namespace ptrain {

std::string BatchNorm::attributes() const {
  std::string text = fmt::format("epsilon={:g}", attributes_.epsilon);
  if (attributes_.training) text += fmt::format(" momentum={:g}", attributes_.momentum);
  if (attributes_.activation != Activation::none) text += fmt::format(" {}", to_string(attributes_.activation));
  if (!attributes_.training) text += " inference";
  if (attributes_.sync) text += " sync";
  return text;
}

std::vector<TensorDesc> BatchNorm::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 5, 6);
  require_norm_activation(attributes_.activation);
  require_floating(inputs[x], "x");
  require(inputs[x].shape.rank() >= 2, "expected data [...,C], got {}", inputs[x].to_string());
  const TensorDesc channels{DType::f32, {inputs[x].shape[-1]}};
  require_channels(inputs, gamma, running_var, channels);
  if (has_input(inputs, residual)) require_desc(inputs[residual], inputs[x], "residual");
  if (!attributes_.training) return {inputs[x]};
  require(inputs[x].count() > channels.count(), "batch statistics need more than one value per channel, got {}",
          inputs[x].to_string());
  if (attributes_.activation == Activation::none || !has_input(inputs, residual)) {
    return {inputs[x], channels, channels};
  }
  require_gate(attributes_.activation, inputs[x]);
  return {inputs[x], channels, channels, mask_desc(inputs[x])};
}

void BatchNorm::gradient(GradientBuilder& builder) const {
  if (!attributes_.training) Op::gradient(builder);
  const bool has_residual = builder.input(residual) != no_value;
  const bool masked_residual = attributes_.activation != Activation::none && has_residual;
  const ValueId incoming = builder.output_gradient(0);
  auto op = std::make_shared<BatchNormGrad>(
      BatchNormGrad::Attributes{attributes_.activation, masked_residual, attributes_.sync});
  const std::vector<ValueId> gradients = builder.emit(
      std::move(op), {incoming, builder.input(x), builder.input(gamma), builder.input(beta), builder.output(saved_mean),
                      builder.output(saved_invstd), masked_residual ? builder.output(mask) : no_value});
  if (builder.needs_gradient(x)) builder.set_input_gradient(x, gradients[0]);
  if (builder.needs_gradient(gamma)) builder.set_input_gradient(gamma, gradients[1]);
  if (builder.needs_gradient(beta)) builder.set_input_gradient(beta, gradients[2]);
  if (has_residual && builder.needs_gradient(residual)) {
    builder.set_input_gradient(residual, masked_residual ? gradients[3] : incoming);
  }
}

int BatchNorm::inplace_input(int output) const {
  if (output != 0) return -1;
  return attributes_.training ? residual : x;
}

Cost BatchNorm::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const double elements = static_cast<double>(inputs[x].count());
  const double statistics = attributes_.training ? 1 : 0;  // one more pass over x, three operations each
  return {elements * (3 * statistics + 2 + (inputs.size() == 6) + (attributes_.activation != Activation::none)),
          traffic(inputs, outputs) + statistics * static_cast<double>(inputs[x].bytes())};
}

std::string BatchNormGrad::attributes() const {
  std::string text = attributes_.activation == Activation::none ? "" : std::string(to_string(attributes_.activation));
  if (attributes_.residual) text += " residual";
  if (attributes_.sync) text += " sync";
  return text;
}

std::vector<TensorDesc> BatchNormGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 7, 8);
  require_norm_activation(attributes_.activation);
  require_floating(inputs[x], "x");
  require(inputs[x].shape.rank() >= 2, "expected data [...,C], got {}", inputs[x].to_string());
  require_desc(inputs[dy], inputs[x], "dy");
  const TensorDesc channels{DType::f32, {inputs[x].shape[-1]}};
  require_channels(inputs, gamma, saved_invstd, channels);
  if (has_input(inputs, dy_more)) {
    require(attributes_.residual, "a second gradient of y needs a residual");
    require_desc(inputs[dy_more], inputs[x], "dy_more");
  }
  if (!attributes_.residual) return {inputs[x], channels, channels};
  require_gate(attributes_.activation, inputs[x]);
  require_desc(inputs[mask], mask_desc(inputs[x]), "mask");
  return {inputs[x], channels, channels, inputs[x]};
}

int BatchNormGrad::inplace_input(int output) const {
  if (output == 0) return attributes_.residual ? x : dy;
  return output == 3 ? dy : -1;
}

Cost BatchNormGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const double elements = static_cast<double>(inputs[x].count());
  return {elements * (8 + (attributes_.activation != Activation::none) + has_input(inputs, dy_more)),
          traffic(inputs, outputs) + 2 * static_cast<double>(inputs[x].bytes())};
}

}  // namespace ptrain

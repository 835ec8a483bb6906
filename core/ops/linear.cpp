#include "core/ops/linear.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

/// Multiply-adds of [rows, k] x [k, n], as two operations each.
double count_gemm_flops(const TensorDesc& rows_by_k, std::int64_t n) {
  return 2.0 * static_cast<double>(rows_by_k.count()) * static_cast<double>(n);
}

}  // namespace

std::string Linear::attributes() const {
  std::string text = fmt::format("activation={}", to_string(attributes_.activation));
  if (attributes_.save_pre) text += " save_pre";
  return text;
}

std::vector<TensorDesc> Linear::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 3);
  require_floating(inputs[x], "x");
  require_floating(inputs[w], "w");
  require(inputs[w].shape.rank() == 2, "w: expected [N,K], got {}", inputs[w].to_string());
  require(inputs[x].shape.rank() >= 1 && inputs[x].shape[-1] == inputs[w].shape[1], "x {} does not fit w {}",
          inputs[x].to_string(), inputs[w].to_string());
  if (has_input(inputs, bias)) require_shape(inputs[bias], Shape{inputs[w].shape[0]}, "bias");
  const TensorDesc y{inputs[x].dtype, with_last(inputs[x].shape, inputs[w].shape[0])};
  if (attributes_.save_pre) return {y, y};
  return {y};
}

void Linear::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const bool has_bias = builder.input(bias) != no_value;
  ValueId dpre = dy;
  if (attributes_.activation != Activation::none) {
    const bool from_pre = get_traits(attributes_.activation).saved == ActivationSaved::input;
    invariant(!from_pre || attributes_.save_pre, "linear needs save_pre for the gradient of its activation");
    const ValueId saved = builder.output(from_pre ? 1 : 0);
    dpre = builder.emit(std::make_shared<ActivationGrad>(attributes_.activation), {saved, dy}).front();
  }
  if (builder.needs_gradient(x)) {
    builder.set_input_gradient(x, builder.emit(std::make_shared<LinearGradInput>(), {dpre, builder.input(w)}).front());
  }
  const bool bias_gradient = has_bias && builder.needs_gradient(bias);
  if (!builder.needs_gradient(w) && !bias_gradient) return;
  const auto op = std::make_shared<LinearGradWeight>(
      LinearGradWeightAttributes{builder.desc(builder.input(w)).dtype, bias_gradient});
  const std::vector<ValueId> gradients = builder.emit(op, {builder.input(x), dpre});
  if (builder.needs_gradient(w)) builder.set_input_gradient(w, gradients[0]);
  if (bias_gradient) builder.set_input_gradient(bias, gradients[1]);
}

Cost Linear::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_gemm_flops(inputs[x], inputs[w].shape[0]), traffic(inputs, outputs)};
}

std::string LinearGradInput::attributes() const {
  if (attributes_.activation == Activation::none) return "";
  std::string text = fmt::format("activation={}", to_string(attributes_.activation));
  if (attributes_.bias) text += fmt::format(" bias={}", to_string(*attributes_.bias));
  return text;
}

std::vector<TensorDesc> LinearGradInput::infer(std::span<const TensorDesc> inputs) const {
  const bool activated = attributes_.activation != Activation::none;
  invariant(activated || !attributes_.bias, "a bias gradient needs a fused activation gradient");
  require_count(inputs, activated ? 3 : 2, activated ? 3 : 2);
  require_floating(inputs[dy], "dy");
  require_floating(inputs[w], "w");
  require(inputs[w].shape.rank() == 2 && inputs[dy].shape.rank() >= 1 && inputs[dy].shape[-1] == inputs[w].shape[0],
          "dy {} does not fit w {}", inputs[dy].to_string(), inputs[w].to_string());
  const TensorDesc dx{inputs[dy].dtype, with_last(inputs[dy].shape, inputs[w].shape[1])};
  if (!activated) return {dx};
  require(inputs[saved] == dx, "saved: expected {}, got {}", dx.to_string(), inputs[saved].to_string());
  if (!attributes_.bias) return {dx};
  return {dx, {*attributes_.bias, Shape{inputs[w].shape[1]}}};
}

Cost LinearGradInput::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  double flops = count_gemm_flops(inputs[dy], inputs[w].shape[1]);
  if (attributes_.activation != Activation::none) flops += 2.0 * static_cast<double>(outputs[0].count());
  return {flops, traffic(inputs, outputs)};
}

std::string LinearGradWeight::attributes() const {
  return fmt::format("dtype={}{}", to_string(attributes_.dtype), attributes_.bias ? " bias" : "");
}

std::vector<TensorDesc> LinearGradWeight::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[x], "x");
  require(inputs[x].dtype == inputs[dy].dtype, "x {} and dy {} differ in dtype", inputs[x].to_string(),
          inputs[dy].to_string());
  require(leading_shape(inputs[x].shape) == leading_shape(inputs[dy].shape), "x {} does not fit dy {}",
          inputs[x].to_string(), inputs[dy].to_string());
  const TensorDesc dw{attributes_.dtype, Shape{inputs[dy].shape[-1], inputs[x].shape[-1]}};
  if (!attributes_.bias) return {dw};
  return {dw, {attributes_.dtype, Shape{inputs[dy].shape[-1]}}};
}

Cost LinearGradWeight::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_gemm_flops(inputs[x], inputs[dy].shape[-1]), traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/linear.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

/// Multiply-adds of [rows, k] x [k, n], as two operations each.
double gemm_flops(const TensorDesc& rows_by_k, std::int64_t n) {
  return 2.0 * static_cast<double>(rows_by_k.count()) * static_cast<double>(n);
}

}  // namespace

std::string Linear::attributes() const {
  std::string text = fmt::format("activation={}", name_of(attributes_.activation));
  if (attributes_.save_pre) text += " save_pre";
  return text;
}

std::vector<TensorDesc> Linear::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 3);
  const TensorDesc& x = inputs[0];
  const TensorDesc& w = inputs[1];
  require_floating(x, "x");
  require_floating(w, "w");
  require(w.shape.rank() == 2, "w: expected [N,K], got {}", w.to_string());
  require(x.shape.rank() >= 1 && x.shape[-1] == w.shape[1], "x {} does not fit w {}", x.to_string(), w.to_string());
  if (inputs.size() == 3 && !is_absent(inputs[2])) require_shape(inputs[2], Shape{w.shape[0]}, "bias");
  const TensorDesc y{x.dtype, with_last(x.shape, w.shape[0])};
  if (attributes_.save_pre) return {y, y};
  return {y};
}

void Linear::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const bool has_bias = builder.input(2) != no_value;
  ValueId dpre = dy;
  if (attributes_.activation != Activation::none) {
    const bool from_pre = traits_of(attributes_.activation).saved == ActivationSaved::input;
    invariant(!from_pre || attributes_.save_pre, "linear needs save_pre for the gradient of its activation");
    const ValueId saved = builder.output(from_pre ? 1 : 0);
    dpre = builder.emit(std::make_shared<ActivationGrad>(attributes_.activation), {saved, dy}).front();
  }
  if (builder.needs_gradient(0)) {
    builder.set_input_gradient(0, builder.emit(std::make_shared<LinearGradInput>(), {dpre, builder.input(1)}).front());
  }
  const bool bias_gradient = has_bias && builder.needs_gradient(2);
  if (!builder.needs_gradient(1) && !bias_gradient) return;
  const auto op = std::make_shared<LinearGradWeight>(
      LinearGradWeightAttributes{builder.desc(builder.input(1)).dtype, bias_gradient});
  const std::vector<ValueId> gradients = builder.emit(op, {builder.input(0), dpre});
  if (builder.needs_gradient(1)) builder.set_input_gradient(1, gradients[0]);
  if (bias_gradient) builder.set_input_gradient(2, gradients[1]);
}

Cost Linear::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {gemm_flops(inputs[0], inputs[1].shape[0]), traffic(inputs, outputs)};
}

std::string LinearGradInput::attributes() const {
  if (attributes_.activation == Activation::none) return "";
  std::string text = fmt::format("activation={}", name_of(attributes_.activation));
  if (attributes_.bias) text += fmt::format(" bias={}", name_of(*attributes_.bias));
  return text;
}

std::vector<TensorDesc> LinearGradInput::infer(std::span<const TensorDesc> inputs) const {
  const bool activated = attributes_.activation != Activation::none;
  invariant(activated || !attributes_.bias, "a gradient that takes in no activation has no bias gradient");
  require_count(inputs, activated ? 3 : 2, activated ? 3 : 2);
  const TensorDesc& dy = inputs[0];
  const TensorDesc& w = inputs[1];
  require_floating(dy, "dy");
  require_floating(w, "w");
  require(w.shape.rank() == 2 && dy.shape.rank() >= 1 && dy.shape[-1] == w.shape[0], "dy {} does not fit w {}",
          dy.to_string(), w.to_string());
  const TensorDesc dx{dy.dtype, with_last(dy.shape, w.shape[1])};
  if (!activated) return {dx};
  require(inputs[2] == dx, "saved: expected {}, got {}", dx.to_string(), inputs[2].to_string());
  if (!attributes_.bias) return {dx};
  return {dx, {*attributes_.bias, Shape{w.shape[1]}}};
}

Cost LinearGradInput::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  double flops = gemm_flops(inputs[0], inputs[1].shape[1]);
  if (attributes_.activation != Activation::none) flops += 2.0 * static_cast<double>(outputs[0].count());
  return {flops, traffic(inputs, outputs)};
}

std::string LinearGradWeight::attributes() const {
  return fmt::format("dtype={}{}", name_of(attributes_.dtype), attributes_.bias ? " bias" : "");
}

std::vector<TensorDesc> LinearGradWeight::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  const TensorDesc& x = inputs[0];
  const TensorDesc& dy = inputs[1];
  require_floating(x, "x");
  require(x.dtype == dy.dtype, "x {} and dy {} differ in dtype", x.to_string(), dy.to_string());
  require(leading_shape(x.shape) == leading_shape(dy.shape), "x {} does not fit dy {}", x.to_string(), dy.to_string());
  const TensorDesc dw{attributes_.dtype, Shape{dy.shape[-1], x.shape[-1]}};
  if (!attributes_.bias) return {dw};
  return {dw, {attributes_.dtype, Shape{dy.shape[-1]}}};
}

Cost LinearGradWeight::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {gemm_flops(inputs[0], inputs[1].shape[-1]), traffic(inputs, outputs)};
}

}  // namespace ptrain

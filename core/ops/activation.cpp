#include "core/ops/activation.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::gelu_erf:
      return "gelu_erf";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::tanh:
      return "tanh";
    case Activation::relu:
      return "relu";
  }
  return "";
}

ActivationOp::ActivationOp(Activation activation) : activation_(activation) {
  invariant(activation != Activation::none, "an activation op without an activation");
}

std::string_view ActivationOp::type() const {
  if (activation_ == Activation::relu) return "relu";
  return activation_ == Activation::tanh ? "tanh" : "gelu";
}

std::string ActivationOp::attributes() const { return activation_ == Activation::gelu_tanh ? "approximate=tanh" : ""; }

std::vector<TensorDesc> ActivationOp::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "x");
  return {inputs[0]};
}

void ActivationOp::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  const ValueId saved = ActivationGrad::saves_input(activation_) ? builder.input(0) : builder.output(0);
  builder.set_input_gradient(0, builder.emit(std::make_shared<ActivationGrad>(activation_), {saved, dy}).front());
}

Cost ActivationOp::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

ActivationGrad::ActivationGrad(Activation activation) : activation_(activation) {
  invariant(activation != Activation::none, "an activation op without an activation");
}

bool ActivationGrad::saves_input(Activation activation) {
  return activation == Activation::gelu_erf || activation == Activation::gelu_tanh;
}

std::string_view ActivationGrad::type() const {
  if (activation_ == Activation::relu) return "relu_grad";
  return activation_ == Activation::tanh ? "tanh_grad" : "gelu_grad";
}

std::string ActivationGrad::attributes() const {
  return activation_ == Activation::gelu_tanh ? "approximate=tanh" : "";
}

std::vector<TensorDesc> ActivationGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[0], "saved");
  require_floating(inputs[1], "dy");
  require_shape(inputs[0], inputs[1].shape, "saved");
  return {inputs[1]};
}

Cost ActivationGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2.0 * static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

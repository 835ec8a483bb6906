#include "core/ops/activation.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {

static_assert([] {
  for (std::size_t i = 0; i < activations.size(); ++i) {
    if (activations[i].activation != static_cast<Activation>(i)) return false;
  }
  return true;
}());

ActivationOp::ActivationOp(Activation activation) : activation_(activation) {
  invariant(activation != Activation::none, "an activation op without an activation");
}

std::vector<TensorDesc> ActivationOp::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "x");
  return {inputs[0]};
}

void ActivationOp::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  const bool from_input = get_traits(activation_).saved == ActivationSaved::input;
  const ValueId saved = from_input ? builder.input(0) : builder.output(0);
  builder.set_input_gradient(0, builder.emit(std::make_shared<ActivationGrad>(activation_), {saved, dy}).front());
}

Cost ActivationOp::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

ActivationGrad::ActivationGrad(Activation activation) : activation_(activation) {
  invariant(activation != Activation::none, "an activation op without an activation");
}

std::vector<TensorDesc> ActivationGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[saved], "saved");
  require_floating(inputs[dy], "dy");
  require_shape(inputs[saved], inputs[dy].shape, "saved");
  return {inputs[dy]};
}

Cost ActivationGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2.0 * static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/tensor/unary.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

std::string constants_text(const UnaryAttributes& attributes) {
  const int constants = get_traits(attributes.function).constants;
  if (constants == 0) return {};
  if (constants == 1) return fmt::format("a={}", attributes.constants.a);
  return fmt::format("a={} b={}", attributes.constants.a, attributes.constants.b);
}

}  // namespace

std::string Unary::attributes() const { return constants_text(attrs()); }

std::vector<TensorDesc> Unary::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "x");
  return {inputs[0]};
}

void Unary::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  const UnarySaved saved = get_traits(attrs().function).saved;
  const ValueId kept = saved == UnarySaved::input    ? builder.input(0)
                       : saved == UnarySaved::output ? builder.output(0)
                                                     : no_value;
  builder.set_input_gradient(0, builder.emit(std::make_shared<UnaryGrad>(attrs()), {dy, kept}).front());
}

Cost Unary::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

std::string UnaryGrad::attributes() const { return constants_text(attrs()); }

std::vector<TensorDesc> UnaryGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[dy], "dy");
  if (get_traits(attrs().function).saved == UnarySaved::nothing) {
    require(is_absent(inputs[saved]), "saved: expected none, got {}", inputs[saved].to_string());
  } else {
    require_desc(inputs[saved], inputs[dy], "saved");
  }
  return {inputs[dy]};
}

Cost UnaryGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2.0 * static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

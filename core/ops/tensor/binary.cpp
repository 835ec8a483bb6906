#include "core/ops/tensor/binary.h"

#include "core/ops/require.h"
#include "core/ops/tensor/broadcast.h"

namespace ptrain {
namespace {

/// Whether the gradient of `operand` reads operand `read`.
bool reads(BinaryFunction function, Operand operand, Operand read) {
  const BinarySaved saved = get_traits(function).saved;
  return saved == BinarySaved::operands || (saved == BinarySaved::other_operand && operand != read);
}

/// Whether the gradient of `operand` is the incoming one.
bool hands_on(BinaryFunction function, Operand operand) {
  return function == BinaryFunction::add || (function == BinaryFunction::sub && operand == Operand::a);
}

}  // namespace

std::vector<TensorDesc> Binary::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[a], "a");
  require(inputs[b].dtype == inputs[a].dtype, "b: expected {} as a, got {}", to_string(inputs[a].dtype),
          inputs[b].to_string());
  return {{inputs[a].dtype, broadcast_shape(std::array{inputs[a].shape, inputs[b].shape})}};
}

void Binary::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  for (const Operand operand : {Operand::a, Operand::b}) {
    const int input = static_cast<int>(operand);
    if (!builder.needs_gradient(input)) continue;
    ValueId gradient = dy;
    if (!hands_on(function_, operand)) {
      const auto saved = [&](Operand read) {
        return reads(function_, operand, read) ? builder.input(static_cast<int>(read)) : no_value;
      };
      const auto op = std::make_shared<BinaryGrad>(function_, operand);
      gradient = builder.emit(op, {dy, saved(Operand::a), saved(Operand::b)}).front();
    }
    builder.set_input_gradient(input, sum_to(builder, gradient, builder.desc(builder.input(input)).shape));
  }
}

Cost Binary::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> BinaryGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_floating(inputs[dy], "dy");
  for (const Operand read : {Operand::a, Operand::b}) {
    const TensorDesc& desc = inputs[read == Operand::a ? a : b];
    if (!reads(function_, operand_, read)) {
      require(is_absent(desc), "an operand that is not read: expected none, got {}", desc.to_string());
      continue;
    }
    require(
        desc.dtype == inputs[dy].dtype && broadcast_shape(std::array{desc.shape, inputs[dy].shape}) == inputs[dy].shape,
        "an operand of {}: got {}", inputs[dy].to_string(), desc.to_string());
  }
  return {inputs[dy]};
}

Cost BinaryGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2.0 * static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

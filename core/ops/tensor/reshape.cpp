#include "core/ops/tensor/reshape.h"

#include "core/ops/require.h"
#include "core/ops/tensor/broadcast.h"

#include <array>

namespace ptrain {

std::vector<TensorDesc> Reshape::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require(inputs[0].count() == shape_.count(), "{} and {} differ in their number of elements", inputs[0].to_string(),
          shape_.to_string());
  return {{inputs[0].dtype, shape_}};
}

void Reshape::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  const Shape& shape = builder.desc(builder.input(0)).shape;
  builder.set_input_gradient(0, builder.emit(std::make_shared<Reshape>(shape), {dy}).front());
}

std::vector<TensorDesc> Expand::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require(broadcast_shape(std::array{inputs[0].shape, shape_}) == shape_, "{} cannot be broadcast to {}",
          inputs[0].to_string(), shape_.to_string());
  return {{inputs[0].dtype, shape_}};
}

void Expand::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  builder.set_input_gradient(0, sum_to(builder, dy, builder.desc(builder.input(0)).shape));
}

}  // namespace ptrain

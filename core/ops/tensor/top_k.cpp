#include "core/ops/tensor/top_k.h"

#include "core/ops/require.h"
#include "core/ops/tensor/gather.h"

#include <limits>

namespace ptrain {

std::string TopK::attributes() const { return fmt::format("k={}", k_); }

std::vector<TensorDesc> TopK::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "x");
  const Shape& shape = inputs[0].shape;
  require(shape.rank() >= 1 && k_ >= 1 && k_ <= shape[-1] && shape[-1] <= std::numeric_limits<std::int32_t>::max(),
          "cannot take the {} largest of {}", k_, inputs[0].to_string());
  return {{inputs[0].dtype, with_last(shape, k_)}, {DType::i32, with_last(shape, k_)}};
}

void TopK::gradient(GradientBuilder& builder) const {
  const ValueId dvalues = builder.output_gradient(values);
  if (dvalues == no_value || !builder.needs_gradient(0)) return;
  const Shape& shape = builder.desc(builder.input(0)).shape;
  const int last = shape.rank() - 1;
  const auto op = std::make_shared<ScatterAdd>(GatherAttributes{last, last}, shape[-1]);
  builder.set_input_gradient(0, builder.emit(op, {dvalues, builder.output(indices)}).front());
}

}  // namespace ptrain

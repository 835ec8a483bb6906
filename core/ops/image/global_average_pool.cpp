#include "core/ops/image/global_average_pool.h"

#include "core/ops/require.h"

namespace ptrain {

std::vector<TensorDesc> GlobalAveragePool::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  const Shape& x = inputs[0].shape;
  require(x.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  return {{inputs[0].dtype, {x[0], x[3]}}};
}

void GlobalAveragePool::gradient(GradientBuilder& builder) const {
  auto op =
      std::make_shared<GlobalAveragePoolGrad>(GlobalAveragePoolGrad::Attributes{builder.desc(builder.input(0)).shape});
  builder.set_input_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0)})[0]);
}

Cost GlobalAveragePool::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> GlobalAveragePoolGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  const Shape& x = attributes_.input_shape;
  require_shape(inputs[0], {x[0], x[3]}, "dy");
  return {{inputs[0].dtype, x}};
}

Cost GlobalAveragePoolGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/image/global_average_pool.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

Shape infer_pooled_shape(const GlobalAveragePoolAttributes& pool, const Shape& x) {
  require(x.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  require(pool.images > 0 && x[0] % pool.images == 0, "{} images are not divisible into samples of {}", x[0],
          pool.images);
  return {x[0] / pool.images, x[3]};
}

}  // namespace

std::string GlobalAveragePool::attributes() const {
  return attributes_.images == 1 ? "" : fmt::format("images={}", attributes_.images);
}

std::vector<TensorDesc> GlobalAveragePool::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  return {{inputs[0].dtype, infer_pooled_shape(attributes_, inputs[0].shape)}};
}

void GlobalAveragePool::gradient(GradientBuilder& builder) const {
  auto op = std::make_shared<GlobalAveragePoolGrad>(
      GlobalAveragePoolGrad::Attributes{attributes_, builder.desc(builder.input(0)).shape});
  builder.set_input_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0)})[0]);
}

Cost GlobalAveragePool::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> GlobalAveragePoolGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  require_shape(inputs[0], infer_pooled_shape(attributes_.pool, attributes_.input_shape), "dy");
  return {{inputs[0].dtype, attributes_.input_shape}};
}

Cost GlobalAveragePoolGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

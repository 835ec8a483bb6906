#include "core/ops/image/max_pool2d.h"

#include "core/ops/quantization/quantized_format.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

Shape infer_pooled_shape(const MaxPool2dAttributes& pool, const Shape& x) {
  require(x.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  require(pool.kernel > 0 && pool.kernel <= 16, "expected a pooling window of 1 to 16, got {}", pool.kernel);
  require(pool.stride > 0 && pool.padding >= 0 && 2 * pool.padding <= pool.kernel, "bad geometry: {}",
          pool.to_string());
  require(x[1] + 2 * pool.padding >= pool.kernel && x[2] + 2 * pool.padding >= pool.kernel,
          "images {} are smaller than the pooling window of {}", x.to_string(), pool.kernel);
  return {x[0], pool.output_size(x[1]), pool.output_size(x[2]), x[3]};
}

}  // namespace

std::string MaxPool2dAttributes::to_string() const {
  return fmt::format("kernel={} stride={} padding={}", kernel, stride, padding);
}

std::vector<TensorDesc> MaxPool2d::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  const Shape y = infer_pooled_shape(attributes_, inputs[0].shape);
  if (is_int8(inputs[0].dtype)) return {{inputs[0].dtype, y}};
  require_floating(inputs[0], "data");
  return {{inputs[0].dtype, y}, {DType::u8, y}};
}

void MaxPool2d::gradient(GradientBuilder& builder) const {
  auto op =
      std::make_shared<MaxPool2dGrad>(MaxPool2dGrad::Attributes{attributes_, builder.desc(builder.input(0)).shape});
  builder.set_input_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0), builder.output(1)})[0]);
}

Cost MaxPool2d::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()) * attributes_.kernel * attributes_.kernel, traffic(inputs, outputs)};
}

std::vector<TensorDesc> MaxPool2dGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[dy], "data");
  const Shape y = infer_pooled_shape(attributes_.pool, attributes_.input_shape);
  require(inputs[dy].shape == y, "expected dy {}, got {}", y.to_string(), inputs[dy].shape.to_string());
  require_desc(inputs[argmax], {DType::u8, y}, "argmax");
  return {{inputs[dy].dtype, attributes_.input_shape}};
}

Cost MaxPool2dGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[dy].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/image/avg_pool2d.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

Shape infer_pooled_shape(const AvgPool2dAttributes& pool, const Shape& x) {
  require(x.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  require(pool.stride > 0 && pool.kernel >= pool.stride, "bad geometry: {}", pool.to_string());
  return {x[0], pool.output_size(x[1]), pool.output_size(x[2]), x[3]};
}

}  // namespace

std::string AvgPool2dAttributes::to_string() const { return fmt::format("kernel={} stride={}", kernel, stride); }

std::int64_t AvgPool2dAttributes::output_size(std::int64_t size) const {
  return size <= kernel ? 1 : (size - kernel + stride - 1) / stride + 1;
}

std::vector<TensorDesc> AvgPool2d::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  return {{inputs[0].dtype, infer_pooled_shape(attributes_, inputs[0].shape)}};
}

void AvgPool2d::gradient(GradientBuilder& builder) const {
  auto op =
      std::make_shared<AvgPool2dGrad>(AvgPool2dGrad::Attributes{attributes_, builder.desc(builder.input(0)).shape});
  builder.set_input_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0)})[0]);
}

Cost AvgPool2d::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()) * attributes_.kernel * attributes_.kernel, traffic(inputs, outputs)};
}

std::vector<TensorDesc> AvgPool2dGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  require_shape(inputs[0], infer_pooled_shape(attributes_.pool, attributes_.input_shape), "dy");
  return {{inputs[0].dtype, attributes_.input_shape}};
}

Cost AvgPool2dGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

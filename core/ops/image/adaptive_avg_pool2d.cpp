#include "core/ops/image/adaptive_avg_pool2d.h"

#include "core/ops/math/adaptive_pool.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

Shape infer_pooled_shape(const AdaptiveAvgPool2dAttributes& pool, const Shape& x) {
  require(x.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  require(pool.size > 0, "bad geometry: {}", pool.to_string());
  return {x[0], pool.size * pool.size * x[3]};
}

/// Pixels that all windows of an axis read, overlaps counted each time.
double count_reads(std::int64_t size, std::int64_t pixels) {
  double count = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const AdaptiveWindow window = adaptive_window(i, size, pixels);
    count += static_cast<double>(window.end - window.begin);
  }
  return count;
}

double count_flops(const AdaptiveAvgPool2dAttributes& pool, const Shape& x) {
  return static_cast<double>(x[0] * x[3]) * count_reads(pool.size, x[1]) * count_reads(pool.size, x[2]);
}

}  // namespace

std::string AdaptiveAvgPool2dAttributes::to_string() const { return fmt::format("size={}", size); }

std::vector<TensorDesc> AdaptiveAvgPool2d::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  return {{inputs[0].dtype, infer_pooled_shape(attributes_, inputs[0].shape)}};
}

void AdaptiveAvgPool2d::gradient(GradientBuilder& builder) const {
  auto op = std::make_shared<AdaptiveAvgPool2dGrad>(
      AdaptiveAvgPool2dGrad::Attributes{attributes_, builder.desc(builder.input(0)).shape});
  builder.set_input_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0)})[0]);
}

Cost AdaptiveAvgPool2d::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_flops(attributes_, inputs[0].shape), traffic(inputs, outputs)};
}

std::vector<TensorDesc> AdaptiveAvgPool2dGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  require_shape(inputs[0], infer_pooled_shape(attributes_.pool, attributes_.input_shape), "dy");
  return {{inputs[0].dtype, attributes_.input_shape}};
}

Cost AdaptiveAvgPool2dGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_flops(attributes_.pool, attributes_.input_shape), traffic(inputs, outputs)};
}

}  // namespace ptrain

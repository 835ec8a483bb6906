#include "core/ops/image/resize_bilinear.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

constexpr double bilinear_taps = 4;

Shape resized_shape(const ResizeBilinearAttributes& resize, const Shape& x) {
  require(x.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  require(resize.height > 0 && resize.width > 0, "bad size: {}", resize.to_string());
  return {x[0], resize.height, resize.width, x[3]};
}

}  // namespace

std::string ResizeBilinearAttributes::to_string() const {
  return fmt::format("size={}x{}{}", height, width, corners == Corners::aligned ? " align_corners" : "");
}

std::vector<TensorDesc> ResizeBilinear::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  return {{inputs[0].dtype, resized_shape(attributes_, inputs[0].shape)}};
}

void ResizeBilinear::gradient(GradientBuilder& builder) const {
  auto op = std::make_shared<ResizeBilinearGrad>(
      ResizeBilinearGrad::Attributes{attributes_, builder.desc(builder.input(0)).shape});
  builder.set_input_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0)})[0]);
}

Cost ResizeBilinear::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * bilinear_taps * static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> ResizeBilinearGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  require_shape(inputs[0], resized_shape(attributes_.resize, attributes_.input_shape), "dy");
  return {{inputs[0].dtype, attributes_.input_shape}};
}

Cost ResizeBilinearGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * bilinear_taps * static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain

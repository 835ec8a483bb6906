#include "core/ops/concat.h"

#include "core/ops/require.h"

#include <fmt/ranges.h>

namespace ptrain {

std::vector<TensorDesc> Concat::infer(std::span<const TensorDesc> inputs) const {
  require(!inputs.empty(), "expected at least one input");
  const TensorDesc& first = inputs[0];
  std::int64_t width = 0;
  for (const TensorDesc& input : inputs) {
    require_floating(input, "input");
    require(input.shape.rank() >= 2, "expected [B,...], got {}", input.to_string());
    require(input.dtype == first.dtype && input.shape[0] == first.shape[0], "{} does not fit {}", input.to_string(),
            first.to_string());
    width += input.count() / input.shape[0];
  }
  return {{first.dtype, Shape{first.shape[0], width}}};
}

void Concat::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  std::vector<Shape> shapes;
  for (int i = 0; builder.input(i) != no_value; ++i) shapes.push_back(builder.desc(builder.input(i)).shape);
  const std::vector<ValueId> parts = builder.emit(std::make_shared<ConcatGrad>(std::move(shapes)), {dy});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int input = static_cast<int>(i);
    if (builder.needs_gradient(input)) builder.set_input_gradient(input, parts[i]);
  }
}

std::string ConcatGrad::attributes() const {
  std::vector<std::string> shapes;
  for (const Shape& shape : shapes_) shapes.push_back(shape.to_string());
  return fmt::format("shapes={}", fmt::join(shapes, ","));
}

std::vector<TensorDesc> ConcatGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "dy");
  require(inputs[0].shape.rank() == 2, "dy: expected [B,W], got {}", inputs[0].to_string());
  std::int64_t width = 0;
  std::vector<TensorDesc> outputs;
  for (const Shape& shape : shapes_) {
    width += shape.count() / shape[0];
    outputs.push_back({inputs[0].dtype, shape});
  }
  require(width == inputs[0].shape[1], "dy {} has other rows than {} columns", inputs[0].to_string(), width);
  return outputs;
}

}  // namespace ptrain

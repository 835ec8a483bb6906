#include "core/ops/concat.h"

#include "core/ops/require.h"

#include <fmt/ranges.h>

namespace ptrain {
namespace {

/// [B, W].
Shape concatenated_rows_shape(std::span<const Shape> shapes) {
  std::int64_t width = 0;
  for (const Shape& shape : shapes) {
    require(shape.rank() >= 2, "expected [B,...], got {}", shape.to_string());
    require(shape[0] == shapes[0][0], "{} does not fit {}", shape.to_string(), shapes[0].to_string());
    width += shape.count() / shape[0];
  }
  return {shapes[0][0], width};
}

std::string axis_text(std::optional<int> axis) { return axis ? fmt::format("axis={}", *axis) : std::string(); }

}  // namespace

Shape concatenated_shape(std::span<const Shape> shapes, std::optional<int> axis) {
  require(!shapes.empty(), "expected at least one input");
  if (!axis) return concatenated_rows_shape(shapes);
  const int rank = shapes[0].rank();
  require(*axis >= -rank && *axis < rank, "there is no axis {} of {}", *axis, shapes[0].to_string());
  const auto along = static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis);
  std::vector<std::int64_t> result = shapes[0].dims();
  for (const Shape& shape : shapes.subspan(1)) {
    std::vector<std::int64_t> dims = shape.dims();
    require(dims.size() == result.size(), "{} does not fit {}", shape.to_string(), shapes[0].to_string());
    result[along] += dims[along];
    dims[along] = result[along];
    require(dims == result, "{} does not fit {}", shape.to_string(), shapes[0].to_string());
  }
  return Shape(std::move(result));
}

std::int64_t concatenated_rows(const Shape& shape, std::optional<int> axis) {
  if (!axis) return shape[0];
  const int along = *axis < 0 ? *axis + shape.rank() : *axis;
  std::int64_t rows = 1;
  for (int i = 0; i < along; ++i) rows *= shape[i];
  return rows;
}

std::string Concat::attributes() const { return axis_text(axis_); }

std::vector<TensorDesc> Concat::infer(std::span<const TensorDesc> inputs) const {
  std::vector<Shape> shapes;
  for (const TensorDesc& input : inputs) {
    require(input.dtype == inputs[0].dtype, "{} does not fit {}", input.to_string(), inputs[0].to_string());
    shapes.push_back(input.shape);
  }
  const Shape shape = concatenated_shape(shapes, axis_);
  return {{inputs[0].dtype, shape}};
}

void Concat::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  std::vector<Shape> shapes;
  for (int i = 0; builder.input(i) != no_value; ++i) shapes.push_back(builder.desc(builder.input(i)).shape);
  const std::vector<ValueId> parts = builder.emit(std::make_shared<ConcatGrad>(std::move(shapes), axis_), {dy});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int input = static_cast<int>(i);
    if (builder.needs_gradient(input)) builder.set_input_gradient(input, parts[i]);
  }
}

std::string ConcatGrad::attributes() const {
  std::vector<std::string> shapes;
  for (const Shape& shape : shapes_) shapes.push_back(shape.to_string());
  return fmt::format("shapes={}{}{}", fmt::join(shapes, ","), axis_ ? " " : "", axis_text(axis_));
}

std::vector<TensorDesc> ConcatGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "dy");
  require_shape(inputs[0], concatenated_shape(shapes_, axis_), "dy");
  std::vector<TensorDesc> outputs;
  for (const Shape& shape : shapes_) outputs.push_back({inputs[0].dtype, shape});
  return outputs;
}

}  // namespace ptrain

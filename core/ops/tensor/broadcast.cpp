#include "core/ops/tensor/broadcast.h"

#include "core/ops/require.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/reshape.h"

#include <utility>

namespace ptrain {
namespace {

/// The extent of an axis counted from the last, which is -1; 1 where there is no such axis.
std::int64_t extent_or_one(const Shape& shape, int axis) { return -axis <= shape.rank() ? shape[axis] : 1; }

}  // namespace

Shape broadcast_shape(std::span<const Shape> shapes) {
  int rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  require(rank <= StridedIndex::most_axes, "expected at most {} axes, got {}", StridedIndex::most_axes, rank);
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
  for (const Shape& shape : shapes) {
    for (int axis = -shape.rank(); axis < 0; ++axis) {
      std::int64_t& extent = *(dims.end() + axis);
      require(extent == 1 || shape[axis] == 1 || extent == shape[axis], "{} cannot be broadcast to {}",
              shape.to_string(), Shape(dims).to_string());
      if (shape[axis] != 1) extent = shape[axis];
    }
  }
  return Shape(std::move(dims));
}

StridedIndex broadcast_index(const Shape& operand, const Shape& result) {
  StridedIndex index;
  std::int64_t stride = operand.count();
  for (int axis = -result.rank(); axis < 0; ++axis) {
    const std::int64_t extent = extent_or_one(operand, axis);
    if (extent > 0) stride /= extent;
    index.add(result[axis], extent == 1 ? 0 : stride);
  }
  return index;
}

ValueId sum_to(GradientBuilder& builder, ValueId value, Shape shape) {
  const Shape from = builder.desc(value).shape;
  if (from == shape) return value;
  ReduceAttributes attributes{ReduceKind::sum, {}, KeepDims::yes};
  for (int axis = -from.rank(); axis < 0; ++axis) {
    if (from[axis] != extent_or_one(shape, axis)) attributes.axes.push_back(axis);
  }
  if (!attributes.axes.empty()) value = builder.emit(std::make_shared<Reduce>(attributes), {value}).front();
  if (builder.desc(value).shape == shape) return value;
  return builder.emit(std::make_shared<Reshape>(std::move(shape)), {value}).front();
}

}  // namespace ptrain

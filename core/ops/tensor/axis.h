// Axis numbers of shapes; negative ones count from the last.
#pragma once

#include "core/ops/require.h"

namespace ptrain {

/// `axis` counted from the first. Throws std::invalid_argument when a tensor of `rank` has no such axis.
inline int resolve_axis(int axis, int rank) {
  require(axis >= -rank && axis < rank, "there is no axis {} of {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

/// `shape` with axes [first, last) replaced by `extents`.
inline Shape with_axes(const Shape& shape, int first, int last, std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.erase(dims.begin() + first, dims.begin() + last);
  dims.insert(dims.begin() + first, extents.begin(), extents.end());
  return Shape(std::move(dims));
}

/// Number of elements of axes [first, last).
inline std::int64_t count_elements(const Shape& shape, int first, int last) {
  std::int64_t count = 1;
  for (int axis = first; axis < last; ++axis) count *= shape[axis];
  return count;
}

}  // namespace ptrain

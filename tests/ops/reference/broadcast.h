// Broadcasting and axes by their definitions, one element at a time.
#pragma once

#include "core/base/shape.h"

namespace ptrain::testing {

/// The place of element i along each axis.
inline std::vector<std::int64_t> get_places(const Shape& shape, std::int64_t i) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0; i /= shape[axis]) places[static_cast<std::size_t>(axis)] = i % shape[axis];
  return places;
}

/// The element at those places.
inline std::size_t element_at(const Shape& shape, const std::vector<std::int64_t>& places) {
  std::int64_t i = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) i = i * shape[axis] + places[static_cast<std::size_t>(axis)];
  return static_cast<std::size_t>(i);
}

/// The element of a tensor of shape `operand` that is broadcast to element i of `result`.
inline std::size_t broadcast_element(const Shape& operand, const Shape& result, std::int64_t i) {
  std::vector<std::int64_t> places = get_places(result, i);
  places.erase(places.begin(), places.end() - operand.rank());
  for (int axis = 0; axis < operand.rank(); ++axis) {
    if (operand[axis] == 1) places[static_cast<std::size_t>(axis)] = 0;
  }
  return element_at(operand, places);
}

}  // namespace ptrain::testing

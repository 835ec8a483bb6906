// Element offsets of a tensor that is read in another order: broadcast, permuted or reduced.
#pragma once

#include "core/base/host_device.h"

#include <cstdint>

namespace ptrain {

/// Axes outermost first; axes of 1 are dropped, and neighbours that are contiguous are merged.
struct StridedIndex {
  static constexpr int most_axes = 8;

  int axes = 0;
  std::int64_t extents[most_axes] = {};
  std::int64_t strides[most_axes] = {};  // in elements; 0: one element for the whole axis

  /// Adds an axis inside the present ones.
  void add(std::int64_t extent, std::int64_t stride) {
    if (extent == 1) return;
    if (axes > 0 && strides[axes - 1] == stride * extent) {
      extents[axes - 1] *= extent;
      strides[axes - 1] = stride;
      return;
    }
    extents[axes] = extent;
    strides[axes++] = stride;
  }

  /// Offset in the tensor of element i of the order.
  PTRAIN_HD std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      at += i % extents[axis] * strides[axis];
      i /= extents[axis];
    }
    return at;
  }

  std::int64_t count() const {
    std::int64_t n = 1;
    for (int axis = 0; axis < axes; ++axis) n *= extents[axis];
    return n;
  }
  /// Whether the tensor is read from front to back, or only its first element is.
  bool is_contiguous() const { return axes == 0 || (axes == 1 && strides[0] == 1); }
  bool is_single() const { return axes == 0 || (axes == 1 && strides[0] == 0); }
};

}  // namespace ptrain

// Reads elements in the order of another tensor, one run at a time.
#pragma once

#include "core/cpu/simd/convert.h"
#include "core/ops/math/element_size.h"
#include "core/ops/math/strided_index.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace ptrain::cpu {

/// Calls body(position in the run, offset, stride, count) for the parts of elements [begin, begin + count) of the order
/// that have one stride.
template <typename Body>
void for_parts(const StridedIndex& index, std::int64_t begin, std::int64_t count, Body&& body) {
  if (index.axes == 0) {
    if (count > 0) body(std::int64_t{0}, std::int64_t{0}, std::int64_t{1}, count);
    return;
  }
  const int last = index.axes - 1;
  const std::int64_t extent = index.extents[last], stride = index.strides[last];
  std::int64_t place[StridedIndex::most_axes] = {};
  std::int64_t rest = begin, offset = 0;
  for (int axis = last; axis >= 0; --axis) {
    place[axis] = rest % index.extents[axis];
    rest /= index.extents[axis];
    offset += place[axis] * index.strides[axis];
  }
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t n = std::min(count - done, extent - place[last]);
    body(done, offset, stride, n);
    done += n;
    offset -= place[last] * stride;
    place[last] = 0;
    for (int axis = last - 1; axis >= 0; --axis) {
      offset += index.strides[axis];
      if (++place[axis] < index.extents[axis]) break;
      offset -= index.extents[axis] * index.strides[axis];
      place[axis] = 0;
    }
  }
}

/// to[i] = element begin + i of the order, converted where To is another type.
template <typename From, typename To>
void load_run(const StridedIndex& index, const From* from, std::int64_t begin, std::int64_t count, To* to) {
  for_parts(index, begin, count, [&](std::int64_t at, std::int64_t offset, std::int64_t stride, std::int64_t n) {
    if (stride == 0) {
      std::fill_n(to + at, n, static_cast<To>(from[offset]));
    } else if (stride != 1) {
      for (std::int64_t i = 0; i < n; ++i) to[at + i] = static_cast<To>(from[offset + i * stride]);
    } else if constexpr (std::is_same_v<From, To>) {
      std::memcpy(static_cast<void*>(to + at), from + offset, static_cast<std::size_t>(n) * sizeof(To));
    } else {
      convert_run(from + offset, to + at, n);
    }
  });
}

}  // namespace ptrain::cpu

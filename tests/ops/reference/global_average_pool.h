// Naive global average pooling in double precision.
#pragma once

#include "tests/ops/op_case.h"

namespace ptrain::testing {

/// The means of `images` images each.
inline std::vector<double> reference_global_average_pool(const HostTensor& x, std::int64_t images) {
  const Shape& s = x.desc.shape;
  const std::int64_t pixels = images * s[1] * s[2];
  std::vector<double> y(static_cast<std::size_t>(s[0] / images * s[3]));
  for (std::int64_t i = 0; i < s.count(); ++i) {
    const std::int64_t n = i / (pixels * s[3]), c = i % s[3];
    y[static_cast<std::size_t>(n * s[3] + c)] += x.values[static_cast<std::size_t>(i)] / static_cast<double>(pixels);
  }
  return y;
}

}  // namespace ptrain::testing

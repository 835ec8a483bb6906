// Naive global average pooling in double precision.
#pragma once

#include "tests/ops/op_case.h"

namespace ptrain::testing {

inline std::vector<double> reference_global_average_pool(const HostTensor& x) {
  const Shape& s = x.desc.shape;
  const std::int64_t pixels = s[1] * s[2];
  std::vector<double> y(static_cast<std::size_t>(s[0] * s[3]));
  for (std::int64_t i = 0; i < s.count(); ++i) {
    const std::int64_t n = i / (pixels * s[3]), c = i % s[3];
    y[static_cast<std::size_t>(n * s[3] + c)] += x.values[static_cast<std::size_t>(i)] / static_cast<double>(pixels);
  }
  return y;
}

}  // namespace ptrain::testing

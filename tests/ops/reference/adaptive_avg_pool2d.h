// Naive adaptive average pooling in double precision: windows from floor(i H / size) to ceil((i + 1) H / size), as
// PyTorch documents them.
#pragma once

#include "tests/ops/op_case.h"

#include <cmath>

namespace ptrain::testing {

inline std::vector<double> reference_adaptive_avg_pool2d(std::int64_t size, const HostTensor& x) {
  const Shape& s = x.desc.shape;
  const auto first = [&](std::int64_t i, std::int64_t pixels) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(i * pixels) / static_cast<double>(size)));
  };
  const auto last = [&](std::int64_t i, std::int64_t pixels) {
    return static_cast<std::int64_t>(std::ceil(static_cast<double>((i + 1) * pixels) / static_cast<double>(size)));
  };
  std::vector<double> y;
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j)
        for (std::int64_t c = 0; c < s[3]; ++c) {
          double sum = 0;
          int count = 0;
          for (std::int64_t h = first(i, s[1]); h < last(i, s[1]); ++h)
            for (std::int64_t w = first(j, s[2]); w < last(j, s[2]); ++w, ++count)
              sum += x.values[static_cast<std::size_t>(((n * s[1] + h) * s[2] + w) * s[3] + c)];
          y.push_back(sum / count);
        }
  return y;
}

}  // namespace ptrain::testing

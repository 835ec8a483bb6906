// Naive average pooling in double precision.
#pragma once

#include "core/ops/image/avg_pool2d.h"
#include "tests/ops/op_case.h"

namespace ptrain::testing {

/// The mean of the pixels that a window has inside the image; `rows` by `columns` windows.
inline std::vector<double> reference_avg_pool2d(const AvgPool2dAttributes& pool, const HostTensor& x, std::int64_t rows,
                                                std::int64_t columns) {
  const Shape& xs = x.desc.shape;
  std::vector<double> y;
  for (std::int64_t n = 0; n < xs[0]; ++n)
    for (std::int64_t p = 0; p < rows; ++p)
      for (std::int64_t q = 0; q < columns; ++q)
        for (std::int64_t c = 0; c < xs[3]; ++c) {
          double sum = 0;
          int pixels = 0;
          for (int i = 0; i < pool.kernel * pool.kernel; ++i) {
            const std::int64_t h = p * pool.stride + i / pool.kernel, w = q * pool.stride + i % pool.kernel;
            if (h >= xs[1] || w >= xs[2]) continue;
            sum += x.values[static_cast<std::size_t>(((n * xs[1] + h) * xs[2] + w) * xs[3] + c)];
            ++pixels;
          }
          y.push_back(sum / pixels);
        }
  return y;
}

}  // namespace ptrain::testing

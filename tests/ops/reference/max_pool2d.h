// Naive maximum pooling in double precision.
#pragma once

#include "core/ops/image/max_pool2d.h"
#include "tests/ops/op_case.h"

#include <limits>

namespace ptrain::testing {

/// {y, argmax}
inline std::vector<std::vector<double>> reference_max_pool2d(const MaxPool2dAttributes& pool, const HostTensor& x) {
  const Shape& xs = x.desc.shape;
  std::vector<double> y, argmax;
  for (std::int64_t n = 0; n < xs[0]; ++n)
    for (std::int64_t p = 0; p < pool.output_size(xs[1]); ++p)
      for (std::int64_t q = 0; q < pool.output_size(xs[2]); ++q)
        for (std::int64_t c = 0; c < xs[3]; ++c) {
          double best = -std::numeric_limits<double>::infinity();
          int where = 0;
          for (int i = 0; i < pool.kernel * pool.kernel; ++i) {
            const std::int64_t h = p * pool.stride - pool.padding + i / pool.kernel;
            const std::int64_t w = q * pool.stride - pool.padding + i % pool.kernel;
            if (h < 0 || h >= xs[1] || w < 0 || w >= xs[2]) continue;
            const double v = x.values[static_cast<std::size_t>(((n * xs[1] + h) * xs[2] + w) * xs[3] + c)];
            if (v > best) {
              best = v;
              where = i;
            }
          }
          y.push_back(best);
          argmax.push_back(where);
        }
  return {y, argmax};
}

}  // namespace ptrain::testing

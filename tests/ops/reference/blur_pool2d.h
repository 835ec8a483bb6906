// Naive blur pooling in double precision: an image with a mirrored border, then the 3x3 filter at every second pixel.
#pragma once

#include "core/ops/image/blur_pool2d.h"
#include "tests/ops/op_case.h"

namespace ptrain::testing {

inline std::vector<double> reference_blur_pool2d(const HostTensor& x) {
  const Shape& xs = x.desc.shape;
  const auto mirrored = [](std::int64_t at, std::int64_t size) {
    if (size == 1) return std::int64_t{0};
    return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
  };
  constexpr double filter[3] = {0.25, 0.5, 0.25};
  std::vector<double> y;
  for (std::int64_t n = 0; n < xs[0]; ++n)
    for (std::int64_t p = 0; p < xs[1]; p += 2)
      for (std::int64_t q = 0; q < xs[2]; q += 2)
        for (std::int64_t c = 0; c < xs[3]; ++c) {
          double sum = 0;
          for (int i = 0; i < 9; ++i) {
            const std::int64_t h = mirrored(p + i / 3 - 1, xs[1]), w = mirrored(q + i % 3 - 1, xs[2]);
            sum += filter[i / 3] * filter[i % 3] *
                   x.values[static_cast<std::size_t>(((n * xs[1] + h) * xs[2] + w) * xs[3] + c)];
          }
          y.push_back(sum);
        }
  return y;
}

}  // namespace ptrain::testing

// Naive bilinear resizing in double precision.
#pragma once

#include "core/ops/image/resize_bilinear.h"
#include "tests/ops/op_case.h"

#include <algorithm>
#include <cmath>

namespace ptrain::testing {

/// Reads x at real coordinates by weights 1 - distance; coordinates by PyTorch's documented formulas of align_corners.
inline std::vector<double> reference_resize_bilinear(const ResizeBilinearAttributes& resize, const HostTensor& x) {
  const Shape& xs = x.desc.shape;
  const auto coordinate = [&](std::int64_t at, std::int64_t out, std::int64_t in) {
    const auto outputs = static_cast<double>(out), inputs = static_cast<double>(in), o = static_cast<double>(at);
    if (resize.corners == Corners::aligned) return out > 1 ? o * (inputs - 1) / (outputs - 1) : 0.0;
    return std::clamp((o + 0.5) * inputs / outputs - 0.5, 0.0, inputs - 1);
  };
  std::vector<double> y;
  for (std::int64_t n = 0; n < xs[0]; ++n)
    for (std::int64_t p = 0; p < resize.height; ++p)
      for (std::int64_t q = 0; q < resize.width; ++q)
        for (std::int64_t c = 0; c < xs[3]; ++c) {
          const double row = coordinate(p, resize.height, xs[1]), column = coordinate(q, resize.width, xs[2]);
          double sum = 0;
          for (std::int64_t h = 0; h < xs[1]; ++h)
            for (std::int64_t w = 0; w < xs[2]; ++w) {
              const double down = std::max(0.0, 1 - std::abs(row - static_cast<double>(h)));
              const double across = std::max(0.0, 1 - std::abs(column - static_cast<double>(w)));
              sum += down * across * x.values[static_cast<std::size_t>(((n * xs[1] + h) * xs[2] + w) * xs[3] + c)];
            }
          y.push_back(sum);
        }
  return y;
}

}  // namespace ptrain::testing

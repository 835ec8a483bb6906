// Naive convolution in double precision.
#pragma once

#include "core/ops/conv2d.h"
#include "tests/ops/op_case.h"

namespace ptrain::testing {

inline std::vector<double> reference_conv2d(const Conv2dAttributes& conv, const HostTensor& x, const HostTensor& w) {
  const Shape &xs = x.desc.shape, &ws = w.desc.shape;
  const std::int64_t P = conv.output_size(xs[1], ws[1]), Q = conv.output_size(xs[2], ws[2]), K = ws[0];
  std::vector<double> y;
  for (std::int64_t n = 0; n < xs[0]; ++n)
    for (std::int64_t p = 0; p < P; ++p)
      for (std::int64_t q = 0; q < Q; ++q)
        for (std::int64_t k = 0; k < K; ++k) {
          const std::int64_t group = k / (K / conv.groups);
          double sum = 0;
          for (std::int64_t r = 0; r < ws[1]; ++r)
            for (std::int64_t s = 0; s < ws[2]; ++s)
              for (std::int64_t c = 0; c < ws[3]; ++c) {
                const std::int64_t h = p * conv.stride - conv.padding + r * conv.dilation;
                const std::int64_t v = q * conv.stride - conv.padding + s * conv.dilation;
                if (h < 0 || h >= xs[1] || v < 0 || v >= xs[2]) continue;
                const std::int64_t xi = ((n * xs[1] + h) * xs[2] + v) * xs[3] + group * ws[3] + c;
                const std::int64_t wi = ((k * ws[1] + r) * ws[2] + s) * ws[3] + c;
                sum += x.values[static_cast<std::size_t>(xi)] * w.values[static_cast<std::size_t>(wi)];
              }
          y.push_back(sum);
        }
  return y;
}

}  // namespace ptrain::testing

// Naive convolution and its gradients in double precision.
#pragma once

#include "core/ops/image/conv2d.h"
#include "tests/ops/op_case.h"

namespace ptrain::testing {

/// x[N,H,W,C] and w[K,R,S,C/groups].
struct Conv2dProblem {
  Shape x, w;
  Conv2dAttributes conv;

  Shape y() const { return {x[0], conv.output_size(x[1], w[1]), conv.output_size(x[2], w[2]), w[0]}; }
};
inline void PrintTo(const Conv2dProblem& p, std::ostream* out) {
  *out << p.x.to_string() << " by " << p.w.to_string() << ' ' << p.conv.to_string();
}

/// Calls visit(x index, w index, y index) for every product of the convolution of x[N,H,W,C] with w[K,R,S,C/groups].
template <typename Visit>
void for_conv2d_products(const Conv2dAttributes& conv, const Shape& xs, const Shape& ws, Visit&& visit) {
  const std::int64_t P = conv.output_size(xs[1], ws[1]), Q = conv.output_size(xs[2], ws[2]), K = ws[0];
  for (std::int64_t y = 0; y < xs[0] * P * Q * K; ++y) {
    const std::int64_t k = y % K, q = y / K % Q, p = y / K / Q % P, n = y / K / Q / P;
    const std::int64_t group = k / (K / conv.groups);
    for (std::int64_t r = 0; r < ws[1]; ++r)
      for (std::int64_t s = 0; s < ws[2]; ++s)
        for (std::int64_t c = 0; c < ws[3]; ++c) {
          const std::int64_t h = p * conv.stride - conv.padding + r * conv.dilation;
          const std::int64_t v = q * conv.stride - conv.padding + s * conv.dilation;
          if (h < 0 || h >= xs[1] || v < 0 || v >= xs[2]) continue;
          const std::int64_t xi = ((n * xs[1] + h) * xs[2] + v) * xs[3] + group * ws[3] + c;
          const std::int64_t wi = ((k * ws[1] + r) * ws[2] + s) * ws[3] + c;
          visit(static_cast<std::size_t>(xi), static_cast<std::size_t>(wi), static_cast<std::size_t>(y));
        }
  }
}

inline std::vector<double> reference_conv2d(const Conv2dAttributes& conv, const HostTensor& x, const HostTensor& w) {
  const Shape &xs = x.desc.shape, &ws = w.desc.shape;
  const std::int64_t rows = xs[0] * conv.output_size(xs[1], ws[1]) * conv.output_size(xs[2], ws[2]);
  std::vector<double> y(static_cast<std::size_t>(rows * ws[0]));
  for_conv2d_products(conv, xs, ws,
                      [&](std::size_t xi, std::size_t wi, std::size_t yi) { y[yi] += x.values[xi] * w.values[wi]; });
  return y;
}

inline std::vector<double> reference_conv2d_grad_input(const Conv2dAttributes& conv, const HostTensor& dy,
                                                       const HostTensor& w, const Shape& xs) {
  std::vector<double> dx(static_cast<std::size_t>(xs.count()));
  for_conv2d_products(conv, xs, w.desc.shape,
                      [&](std::size_t xi, std::size_t wi, std::size_t yi) { dx[xi] += dy.values[yi] * w.values[wi]; });
  return dx;
}

inline std::vector<double> reference_conv2d_grad_weight(const Conv2dAttributes& conv, const HostTensor& x,
                                                        const HostTensor& dy, const Shape& ws) {
  std::vector<double> dw(static_cast<std::size_t>(ws.count()));
  for_conv2d_products(conv, x.desc.shape, ws,
                      [&](std::size_t xi, std::size_t wi, std::size_t yi) { dw[wi] += x.values[xi] * dy.values[yi]; });
  return dw;
}

}  // namespace ptrain::testing

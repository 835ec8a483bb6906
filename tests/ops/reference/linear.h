// Naive double-precision linear layer.
#pragma once

#include "tests/ops/op_case.h"
#include "tests/ops/reference/activation.h"

namespace ptrain::testing {

/// {y, pre}: activation(x w^T + bias) and the value before the activation.
inline std::vector<std::vector<double>> linear_reference(const std::vector<HostTensor>& in, Activation activation) {
  const auto& x = in[0];
  const auto& w = in[1];
  const std::int64_t out = w.desc.shape[0];
  const std::int64_t depth = w.desc.shape[1];
  const std::int64_t rows = x.desc.count() / depth;
  const bool has_bias = in.size() > 2 && !in[2].absent;
  std::vector<double> y(static_cast<std::size_t>(rows * out));
  std::vector<double> pre(y.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t n = 0; n < out; ++n) {
      double sum = has_bias ? in[2].values[static_cast<std::size_t>(n)] : 0.0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += x.values[static_cast<std::size_t>(r * depth + k)] * w.values[static_cast<std::size_t>(n * depth + k)];
      }
      const auto i = static_cast<std::size_t>(r * out + n);
      pre[i] = sum;
      y[i] = activation_reference(activation, sum);
    }
  }
  return {y, pre};
}

/// {dx, db}: dy w times the activation's derivative at what it saved, and its sums over the rows.
inline std::vector<std::vector<double>> linear_grad_input_reference(const std::vector<HostTensor>& in,
                                                                    Activation activation) {
  const auto &dy = in[0], &w = in[1], &saved = in[2];
  const std::int64_t out = w.desc.shape[0], depth = w.desc.shape[1];
  const std::int64_t rows = dy.desc.count() / out;
  std::vector<double> dx(static_cast<std::size_t>(rows * depth)), db(static_cast<std::size_t>(depth));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < depth; ++k) {
      double sum = 0;
      for (std::int64_t n = 0; n < out; ++n) {
        sum += dy.values[static_cast<std::size_t>(r * out + n)] * w.values[static_cast<std::size_t>(n * depth + k)];
      }
      const auto i = static_cast<std::size_t>(r * depth + k);
      dx[i] = sum * derivative_reference(activation, saved.values[i]);
      db[static_cast<std::size_t>(k)] += dx[i];
    }
  }
  return {dx, db};
}

}  // namespace ptrain::testing

// Naive double-precision group normalisation.
#pragma once

#include "tests/ops/op_case.h"

#include <cmath>

namespace ptrain::testing {

/// y, mean and rstd of `in`, which is x, gamma and beta.
inline std::vector<std::vector<double>> reference_group_norm(const std::vector<HostTensor>& in, std::int64_t groups,
                                                             double epsilon) {
  const Shape& shape = in[0].desc.shape;
  const std::int64_t channels = shape[-1], width = channels / groups, pixels = shape.count() / (shape[0] * channels);
  std::vector<double> y(in[0].values.size()), means, rstds;
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto for_group = [&](const auto& body) {
        for (std::int64_t p = 0; p < pixels; ++p)
          for (std::int64_t c = g * width; c < (g + 1) * width; ++c)
            body(static_cast<std::size_t>((n * pixels + p) * channels + c), static_cast<std::size_t>(c));
      };
      const auto count = static_cast<double>(pixels * width);
      double mean = 0, variance = 0;
      for_group([&](std::size_t i, std::size_t) { mean += in[0].values[i] / count; });
      for_group([&](std::size_t i, std::size_t) { variance += std::pow(in[0].values[i] - mean, 2) / count; });
      const double rstd = 1 / std::sqrt(variance + epsilon);
      for_group([&](std::size_t i, std::size_t c) {
        y[i] = (in[0].values[i] - mean) * rstd * in[1].values[c] + in[2].values[c];
      });
      means.push_back(mean);
      rstds.push_back(rstd);
    }
  return {y, means, rstds};
}

}  // namespace ptrain::testing

// Naive double-precision layer normalisation.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace ptrain::testing {

struct LayerNormReference {
  std::vector<double> y, mean, rstd;
};

inline LayerNormReference layer_norm_reference(const std::vector<double>& x, const std::vector<double>& gamma,
                                               const std::vector<double>& beta, double epsilon) {
  const std::size_t width = gamma.size();
  LayerNormReference result;
  result.y.resize(x.size());
  for (std::size_t r = 0; r < x.size() / width; ++r) {
    double sum = 0;
    double squares = 0;
    for (std::size_t c = 0; c < width; ++c) sum += x[r * width + c];
    const double mean = sum / static_cast<double>(width);
    for (std::size_t c = 0; c < width; ++c) squares += (x[r * width + c] - mean) * (x[r * width + c] - mean);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::size_t c = 0; c < width; ++c) {
      result.y[r * width + c] = (x[r * width + c] - mean) * rstd * gamma[c] + beta[c];
    }
    result.mean.push_back(mean);
    result.rstd.push_back(rstd);
  }
  return result;
}

}  // namespace ptrain::testing

// Naive batch normalisation in double precision.
#pragma once

#include "core/ops/normalization/batch_norm.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/activation.h"

#include <cmath>

namespace ptrain::testing {

/// A gate's mask, from what it gave.
inline std::vector<double> reference_mask(Activation activation, const std::vector<double>& y) {
  std::vector<double> mask(y.size() / 8);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool open = y[i] > 0 && (activation != Activation::relu6 || y[i] < 6);
    mask[i / 8] += open << i % 8;
  }
  return mask;
}
inline HostTensor random_mask(const Shape& data, std::uint64_t seed) {
  const TensorDesc mask = mask_desc({DType::f32, data});
  HostTensor result = random_tensor(DType::f32, mask.shape, seed, 0, 256);
  for (double& byte : result.values) byte = std::floor(byte);
  result.desc.dtype = mask.dtype;
  return result;
}

struct BatchNormResult {
  std::vector<double> y, mean, invstd, running_mean, running_var;
};

inline BatchNormResult reference_batch_norm(const BatchNorm::Attributes& attrs, const std::vector<HostTensor>& in) {
  const auto& x = in[BatchNorm::x].values;
  const auto channels = static_cast<std::size_t>(in[BatchNorm::x].desc.shape[-1]);
  const double rows = static_cast<double>(x.size() / channels);
  BatchNormResult r{std::vector<double>(x.size()), std::vector<double>(channels), std::vector<double>(channels),
                    in[BatchNorm::running_mean].values, in[BatchNorm::running_var].values};
  for (std::size_t c = 0; c < channels; ++c) {
    double mean = r.running_mean[c], variance = r.running_var[c];
    if (attrs.training) {
      mean = variance = 0;
      for (std::size_t i = c; i < x.size(); i += channels) mean += x[i] / rows;
      for (std::size_t i = c; i < x.size(); i += channels) variance += (x[i] - mean) * (x[i] - mean) / rows;
      const double momentum = static_cast<double>(attrs.momentum);
      r.running_mean[c] = (1 - momentum) * r.running_mean[c] + momentum * mean;
      r.running_var[c] = (1 - momentum) * r.running_var[c] + momentum * variance * rows / (rows - 1);
    }
    r.mean[c] = mean;
    r.invstd[c] = 1 / std::sqrt(variance + static_cast<double>(attrs.epsilon));
    for (std::size_t i = c; i < x.size(); i += channels) {
      double v = (x[i] - mean) * r.invstd[c] * in[BatchNorm::gamma].values[c] + in[BatchNorm::beta].values[c];
      if (in.size() > BatchNorm::residual && !in[BatchNorm::residual].absent) v += in[BatchNorm::residual].values[i];
      r.y[i] = activation_reference(attrs.activation, v);
    }
  }
  return r;
}

}  // namespace ptrain::testing

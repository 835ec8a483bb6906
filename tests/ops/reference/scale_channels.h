// Each channel of an image times its factor, in double.
#pragma once

#include "tests/ops/op_case.h"

namespace ptrain::testing {

inline std::vector<double> reference_scale_channels(const HostTensor& x, const HostTensor& factors) {
  const auto pixels = static_cast<std::size_t>(x.desc.shape[1] * x.desc.shape[2]);
  const auto channels = static_cast<std::size_t>(x.desc.shape[3]);
  std::vector<double> y = x.values;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] *= factors.values[i / (pixels * channels) * channels + i % channels];
  }
  return y;
}

}  // namespace ptrain::testing

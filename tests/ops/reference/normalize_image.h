// Naive pixel normalisation in double precision.
#pragma once

#include "core/ops/image/normalize_image.h"
#include "tests/ops/op_case.h"

namespace ptrain::testing {

inline std::vector<double> reference_normalize_image(const NormalizeImage::Attributes& attrs, const HostTensor& x) {
  std::vector<double> y;
  const auto channels = static_cast<std::size_t>(x.desc.shape[3]);
  for (std::size_t i = 0; i < x.values.size(); i += channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      y.push_back((x.values[i + c] / 255 - static_cast<double>(attrs.mean[c % 3])) /
                  static_cast<double>(attrs.deviation[c % 3]));
    }
    y.resize(y.size() + static_cast<std::size_t>(attrs.channels) - channels);
  }
  return y;
}

}  // namespace ptrain::testing

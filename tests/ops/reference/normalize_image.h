// Naive pixel normalisation in double precision.
#pragma once

#include "core/ops/image/normalize_image.h"
#include "tests/ops/op_case.h"

namespace ptrain::testing {

inline std::vector<double> reference_normalize_image(const NormalizeImage::Attributes& attrs, const HostTensor& x) {
  std::vector<double> y;
  for (std::size_t i = 0; i < x.values.size(); i += 3) {
    for (std::size_t c = 0; c < 3; ++c) {
      y.push_back((x.values[i + c] / 255 - static_cast<double>(attrs.mean[c])) /
                  static_cast<double>(attrs.deviation[c]));
    }
    if (attrs.channels == 4) y.push_back(0);
  }
  return y;
}

}  // namespace ptrain::testing

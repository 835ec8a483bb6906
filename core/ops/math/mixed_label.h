// Labels of samples that may be two samples mixed.
#pragma once

#include "core/base/host_device.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// A batch's labels i32 [B]; `other` and `own_share` are null where none is mixed.
struct MixedLabels {
  const std::int32_t* own = nullptr;
  const std::int32_t* other = nullptr;
  const float* own_share = nullptr;

  /// What class `c` weighs in row `r`: 1 in all over the classes.
  PTRAIN_HD float weight(std::int64_t r, std::int64_t c) const {
    const float of_own = c == own[r] ? 1.0f : 0.0f;
    if (other == nullptr) return of_own;
    return *own_share * of_own + (1.0f - *own_share) * (c == other[r] ? 1.0f : 0.0f);
  }
  /// The mean of `values` [classes] under these weights.
  template <typename Load>
  PTRAIN_HD float mean(std::int64_t r, const Load& value) const {
    const float of_own = value(own[r]);
    return other == nullptr ? of_own : *own_share * of_own + (1.0f - *own_share) * value(other[r]);
  }
};

/// From a kernel's inputs; `other` and the share behind it may not be there.
inline MixedLabels labels_of(std::span<void* const> inputs, std::size_t own, std::size_t other) {
  MixedLabels labels{static_cast<const std::int32_t*>(inputs[own])};
  if (inputs.size() > other) {
    labels.other = static_cast<const std::int32_t*>(inputs[other]);
    labels.own_share = static_cast<const float*>(inputs[other + 1]);
  }
  return labels;
}

}  // namespace ptrain

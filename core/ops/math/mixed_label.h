// Labels of samples that may be two samples mixed, or of classes that do not all weigh the same.
#pragma once

#include "core/base/host_device.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// A batch's labels i32 [B]; `other` and `mixup_lambda` are null where none is mixed, `class_weights` [C] where all
/// classes weigh 1.
struct MixedLabels {
  const std::int32_t* own = nullptr;
  const std::int32_t* other = nullptr;
  const float* mixup_lambda = nullptr;
  const float* class_weights = nullptr;

  PTRAIN_HD float class_weight(std::int64_t c) const { return class_weights == nullptr ? 1.0f : class_weights[c]; }
  /// What row `r` counts in the mean: its class's weight, 0 of rows labelled `ignored`.
  PTRAIN_HD float row_weight(std::int64_t r, std::int32_t ignored) const {
    return own[r] == ignored ? 0.0f : class_weight(own[r]);
  }
  /// What a row's targets, smoothed by `smoothing`, come to under the classes' weights, whose mean is `mean_weight`.
  PTRAIN_HD float target_weight(std::int64_t r, float smoothing, float mean_weight) const {
    return class_weights == nullptr ? 1.0f : (1 - smoothing) * class_weights[own[r]] + smoothing * mean_weight;
  }

  /// What class `c` weighs in row `r`: 1 in all over the classes.
  PTRAIN_HD float weight(std::int64_t r, std::int64_t c) const {
    const float of_own = c == own[r] ? 1.0f : 0.0f;
    if (other == nullptr) return of_own;
    return *mixup_lambda * of_own + (1.0f - *mixup_lambda) * (c == other[r] ? 1.0f : 0.0f);
  }
  /// The mean of `values` [classes] under these weights.
  template <typename Load>
  PTRAIN_HD float mean(std::int64_t r, const Load& value) const {
    const float of_own = value(own[r]);
    return other == nullptr ? of_own : *mixup_lambda * of_own + (1.0f - *mixup_lambda) * value(other[r]);
  }
};

/// From a kernel's inputs; `other`, the share and the weights behind it may not be there.
inline MixedLabels get_labels(std::span<void* const> inputs, std::size_t own, std::size_t other) {
  MixedLabels labels{static_cast<const std::int32_t*>(inputs[own])};
  if (inputs.size() > other) {
    labels.other = static_cast<const std::int32_t*>(inputs[other]);
    labels.mixup_lambda = static_cast<const float*>(inputs[other + 1]);
  }
  if (inputs.size() > other + 2) labels.class_weights = static_cast<const float*>(inputs[other + 2]);
  return labels;
}

}  // namespace ptrain

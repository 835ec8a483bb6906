// Labels of samples that may be mixtures of two samples, or of classes with different weights.
#pragma once

#include "core/base/host_device.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// Labels i32 [B] of a batch; `other` and `mixup_lambda` are null without mixed samples, `class_weights` [C] where all
/// classes weigh 1.
struct MixedLabels {
  const std::int32_t* own = nullptr;
  const std::int32_t* other = nullptr;
  const float* mixup_lambda = nullptr;
  const float* class_weights = nullptr;

  PTRAIN_HD float class_weight(std::int64_t c) const { return class_weights == nullptr ? 1.0f : class_weights[c]; }
  /// The weight of row `r` in the mean: its class's weight, 0 for rows labelled `ignored`.
  PTRAIN_HD float row_weight(std::int64_t r, std::int32_t ignored) const {
    return own[r] == ignored ? 0.0f : class_weight(own[r]);
  }
  /// The weighted sum of a row's targets, smoothed by `smoothing`; `mean_weight` is the mean class weight.
  PTRAIN_HD float target_weight(std::int64_t r, float smoothing, float mean_weight) const {
    return class_weights == nullptr ? 1.0f : (1 - smoothing) * class_weights[own[r]] + smoothing * mean_weight;
  }

  /// The share of class `c` in row `r`; the shares add up to 1.
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

/// From a kernel's inputs; `other` and the inputs after it are optional.
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

// Regions of interest (RoIs) on the feature maps of a pyramid: which map has a region, and which pixels its bins read.
#pragma once

#include "core/ops/math/boxes.h"

namespace ptrain {

/// The feature maps of a pyramid: the first has `finest_stride` px of the image between pixels, each other one twice
/// the stride of the one before.
struct RoiLevels {
  static constexpr int most = 8;

  std::int32_t count = 1;
  std::int32_t finest_stride = 4;

  PTRAIN_HD_INLINE float scale(int level) const { return 1.0f / static_cast<float>(finest_stride << level); }
  /// The map for a box: the one of stride 16 for sides of 224 px, a coarser one for twice that (Lin et al. 2017,
  /// "Feature pyramid networks", equation 1, as torchvision computes it).
  PTRAIN_HD_INLINE int choose(const CornerBox& box) const {
    const float finest = log2f(static_cast<float>(finest_stride));
    const float level = floorf(4.0f + log2f(sqrtf(box.area()) / 224.0f) + 1e-6f) - finest;
    const auto last = static_cast<float>(count - 1);
    return static_cast<int>(level > 0 ? (level < last ? level : last) : 0.0f);
  }
};

/// The bins of a region along one axis of a map, and the pixels that they read (He et al. 2017, "Mask R-CNN", without
/// the shift by half a pixel that later versions of RoIAlign have).
struct RoiAxis {
  float start = 0, bin = 0;  // px of the map
  std::int32_t samples = 2;  // of a bin
  std::int32_t size = 0;     // px of the map

  /// From `begin` to `end` in px of the image; regions are at least one pixel of the map long. `samples_of_bin` 0: one
  /// for each pixel that a bin has, rounded up.
  PTRAIN_HD_INLINE RoiAxis(float begin, float end, float scale, int bins, int samples_of_bin, std::int64_t pixels)
      : start(begin * scale), samples(samples_of_bin), size(static_cast<std::int32_t>(pixels)) {
    bin = fmaxf(end * scale - start, 1.0f) / static_cast<float>(bins);
    if (samples == 0) samples = static_cast<std::int32_t>(ceilf(bin));
  }

  /// Two adjacent pixels, or one that occurs twice, and their shares: 0 where a sample is outside the map.
  struct Tap {
    std::int32_t first, second;
    float first_share, second_share;
  };
  PTRAIN_HD_INLINE Tap tap(int number, int sample) const {
    float at = start + static_cast<float>(number) * bin +
               (static_cast<float>(sample) + 0.5f) * bin / static_cast<float>(samples);
    if (!(at >= -1.0f && at <= static_cast<float>(size))) return {0, 0, 0, 0};
    at = fmaxf(at, 0.0f);
    const auto first = static_cast<std::int32_t>(at);
    if (first >= size - 1) return {size - 1, size - 1, 1, 0};
    const float share = at - static_cast<float>(first);
    return {first, first + 1, 1.0f - share, share};
  }

  /// The share of a pixel in a bin.
  PTRAIN_HD_INLINE float share(int number, std::int32_t pixel) const {
    float sum = 0;
    for (int i = 0; i < samples; ++i) {
      const Tap read = tap(number, i);
      if (read.first == pixel) sum += read.first_share;
      if (read.second == pixel) sum += read.second_share;
    }
    return sum / static_cast<float>(samples);
  }
};

}  // namespace ptrain

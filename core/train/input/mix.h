// Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019): mixes pairs of training images and their labels.
#pragma once

#include "core/config/config.h"
#include "core/data/batch.h"

#include <cstdint>

namespace ptrain {

/// The share of an image's own pixels, and the region of the other's.
struct MixDraw {
  double share = 1;                              // of its own pixels
  bool cut = false;                              // CutMix: a rectangle of the other image; else Mixup
  int left = 0, top = 0, right = 0, bottom = 0;  // of the rectangle, ends excluded
};

/// For images of `size`; `number` distinguishes micro-batches, over all ranks. Shares are drawn from Beta(a, a) with a
/// from train.mixup or train.cutmix (with equal probability if both are set); a rectangle has the other image's share
/// of the area, clipped to the image, as in torchvision.
MixDraw draw_mix(const TrainConfig& train, std::int64_t seed, ImageSize size, std::int64_t epoch, std::int64_t number);

/// Whether rows of a batch are mixed.
inline bool mixes(const TrainConfig& train) { return train.mixup > 0 || train.cutmix > 0; }

/// Mixes `batch` with itself: each row with the one before it, the first with the last; all frames of a clip alike.
/// Rows from batch.count on are unchanged.
Batch mix_rows(const Batch& batch, const MixDraw& draw);

}  // namespace ptrain

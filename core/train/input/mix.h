// Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019): training images that are two images, with both labels.
#pragma once

#include "core/config/config.h"
#include "core/data/batch.h"

#include <cstdint>

namespace ptrain {

/// How much of an image is its own, and where the other's pixels are.
struct MixDraw {
  double share = 1;                              // of its own
  bool cut = false;                              // a rectangle of the other's, else both everywhere
  int left = 0, top = 0, right = 0, bottom = 0;  // of the rectangle, ends excluded
};

/// For images of `size`; `number` tells micro-batches apart, over all ranks. Shares are drawn from Beta(a, a) with a
/// from train.mixup or train.cutmix (a fair coin decides where both are set); a rectangle has the other's share of the
/// area, but for what lies outside, as torchvision has it.
MixDraw draw_mix(const Config& config, ImageSize size, std::int64_t epoch, std::int64_t number);

/// Whether rows of a batch are mixed.
inline bool mixes(const TrainConfig& train) { return train.mixup > 0 || train.cutmix > 0; }

/// `batch` mixed with itself: each row with the one before it, the first with the last; clips in all frames alike. Rows
/// from batch.count on stay.
Batch mix_rows(const Batch& batch, const MixDraw& draw);

}  // namespace ptrain

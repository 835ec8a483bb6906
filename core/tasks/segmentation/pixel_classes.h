// Labels and predictions of the pixels of an image, at the size of its label map.
#pragma once

#include "core/data/batch.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// The index of the largest of a pixel's logits, the first of equal ones.
std::int32_t likeliest_class(std::span<const float> logits);

/// A row's labels: its label map, or of the frame what the image fills. Empty if the batch has no masks.
PixelClasses get_labels(const Batch& batch, std::int64_t row);

/// The likeliest classes of a row of logits [N,H,W,classes]: those of the part that the image fills, resized
/// bilinearly to `size`, as label maps are compared with (PaddleSeg, mmsegmentation). `size` is by default the image's
/// own, or the frame's if the batch has no placements.
PixelClasses find_likeliest(const Batch& batch, const HostTensor& logits, std::int64_t row, ImageSize size = {});

}  // namespace ptrain

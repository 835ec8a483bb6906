// Brings the mask of a detection from its box to the pixels of its image.
#pragma once

#include "core/config/image_size.h"
#include "core/data/boxes/rle.h"
#include "core/ops/math/boxes.h"

#include <span>

namespace ptrain {

/// The pixels of an image of `size` that have a probability above a half, where `probabilities` [side, side] are of the
/// box, in px of the image: enlarged by a border of zeros, resized bilinearly to whole pixels and cut at the image's
/// edges, as torchvision's paste_masks_in_image does.
RunLengths paste_mask(std::span<const float> probabilities, const CornerBox& box, ImageSize size);

}  // namespace ptrain

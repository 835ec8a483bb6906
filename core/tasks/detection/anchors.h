// The anchors of RetinaNet (Lin et al. 2017), and how objects are matched to them, as in torchvision.
#pragma once

#include "core/config/image_size.h"
#include "core/ops/math/boxes.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// Sides of 32 px on the feature map of stride 8 up to 512 px on that of stride 128, times 1, 2^(1/3) and 2^(2/3), in
/// ratios of height to width of 0.5, 1 and 2. The feature maps are those of an image of `size`.
AnchorGrid make_anchors(ImageSize size);

/// An anchor's object, by its index.
struct AnchorMatches {
  static constexpr std::int32_t background = -1, ignored = -2;
  std::vector<std::int32_t> objects;  // [anchors]: an index, background or ignored
  std::int64_t positives = 0;
};

/// An anchor has the object with which its intersection over union (IoU) is largest, the first of equal ones, if that
/// is at least 0.5, or if no other anchor has a larger IoU with some object; it is background below 0.4.
AnchorMatches match_anchors(const AnchorGrid& anchors, std::span<const CornerBox> objects);

}  // namespace ptrain

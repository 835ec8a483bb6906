// The anchors of detectors, as in torchvision.
#pragma once

#include "core/ops/math/boxes.h"

#include <span>

namespace ptrain {

/// Anchors on the feature maps of a pyramid, and how objects are matched to them.
struct AnchorForm {
  int first_level = 3, last_level = 7;       // maps have strides of 2^first_level to 2^last_level px
  int sizes = 3;                             // on a map: a side times 2^(i * octaves / sizes)
  float positive = 0.5f, background = 0.4f;  // intersection over union (IoU) from which an anchor has an object, and
                                             // below which it is background

  int octaves = 1;  // that the sizes of a map span

  static constexpr int first_side = 32;  // px, on the first map; doubled on each other one
};

/// RetinaNet's (Lin et al. 2017, "Focal loss for dense object detection").
inline constexpr AnchorForm retinanet_anchors{};
/// Those of a region proposal network on a pyramid (Lin et al. 2017, "Feature pyramid networks").
inline constexpr AnchorForm proposal_anchors{2, 6, 1, 0.7f, 0.3f};
/// The same on the one map of a ResNet's fourth stage, C4.
inline constexpr AnchorForm single_map_anchors{4, 4, 5, 0.7f, 0.3f, 5};

/// The anchors of an image of `height` x `width` px, in ratios of height to width of 0.5, 1 and 2.
AnchorGrid make_anchors(const AnchorForm& form, std::int64_t height, std::int64_t width);

/// One anchor at each location of maps of those strides in px, which divide the sides: the location's own cell.
AnchorGrid make_cells(std::span<const std::int32_t> strides, std::int64_t height, std::int64_t width);

}  // namespace ptrain

// How objects are matched to anchors, as in torchvision.
#pragma once

#include "core/ops/detection/anchors.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// An anchor's object, by its index.
struct AnchorMatches {
  std::vector<std::int32_t> objects;  // [anchors]: an index, BoxMatch::background or BoxMatch::ignored
  std::int64_t positives = 0;
};

/// An anchor has the object with which its intersection over union (IoU) is largest, the first of equal ones, if that
/// is at least form.positive, or if no other anchor has a larger IoU with some object; it is background below
/// form.background.
AnchorMatches match_anchors(const AnchorForm& form, const AnchorGrid& anchors, std::span<const CornerBox> objects);

/// The target tensor f32 [N,A,4] of anchors A: the deltas from each to its object.
inline constexpr const char* box_targets = "box_targets";
/// Writes the deltas from each anchor to its object to `deltas` [anchors, 4]; those of other anchors stay.
void write_box_targets(const AnchorGrid& anchors, const AnchorMatches& matches, std::span<const CornerBox> objects,
                       std::span<float> deltas);

}  // namespace ptrain

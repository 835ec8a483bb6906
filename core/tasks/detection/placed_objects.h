// The objects of an image as the model sees it.
#pragma once

#include "core/data/batch.h"
#include "core/ops/math/boxes.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

struct PlacedObjects {
  std::vector<CornerBox> boxes;                    // in px of the model's input
  std::vector<std::int32_t> labels;                // classes
  std::vector<std::array<std::int32_t, 2>> masks;  // the first run in the row of object_masks, and the number of runs
};

/// The objects of a batch's row that can be learnt, in their order.
PlacedObjects place_objects(const Batch& batch, std::int64_t row);

/// Writes them to the first rows of `objects` [M, 6], as detections of score 1; the others stay.
void write_placed(const PlacedObjects& placed, std::span<float> objects);

}  // namespace ptrain

// Boxes around text in a map of its probability (Liao et al. 2020, section 3.3).
#pragma once

#include "core/data/batch.h"
#include "core/tasks/found_text.h"

#include <span>
#include <vector>

namespace ptrain {

/// Finds boxes in a map of the probabilities of pixels [height, width], each a square of 1 px: the rectangles of the
/// smallest area around connected pixels above 0.3, of which there may be 1,000, from top to bottom. Those with a side
/// below 3 px or a score below 0.6 are left out. As the map has text shrunk, the sides move outwards by A * 1.5 / L,
/// for an area A and a perimeter L.
std::vector<FoundText> find_text(std::span<const float> probabilities, ImageSize size);
/// The same for the part of a row's text_probabilities that its image fills, of the batch's frame.
std::vector<FoundText> find_text(const Batch& batch, const Batch& scores, std::int64_t row);

}  // namespace ptrain

// Found boxes against those of ICDAR's text localisation challenge (Karatzas et al. 2015, "ICDAR 2015 competition on
// robust reading", task 4.1).
#pragma once

#include "core/data/boxes/text_boxes.h"
#include "core/tasks/text_detection/find_text.h"

#include <cstdint>
#include <span>

namespace ptrain {

struct TextMatches {
  std::int64_t expected = 0;  // boxes that are not ignored
  std::int64_t found = 0;     // boxes that are found, but for those on ignored ones
  std::int64_t matched = 0;   // pairs of both
};

/// Matches one to one, in their orders, boxes whose intersection is above half of their union. A found box of which an
/// ignored box covers more than half is not counted.
TextMatches match_text(std::span<const TextBox> expected, std::span<const FoundText> found);

}  // namespace ptrain

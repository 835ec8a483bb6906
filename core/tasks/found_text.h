// A box around text in an image, as predictions have it.
#pragma once

#include "core/data/boxes/quad.h"

namespace ptrain {

struct FoundText {
  Quad corners{};    // px
  double score = 0;  // mean probability of the pixels in the box before it is enlarged
};

}  // namespace ptrain

// A detection, as metrics and predictions have it.
#pragma once

#include "core/data/boxes/rle.h"

#include <array>
#include <cstdint>

namespace ptrain {

/// x and y of the upper left corner, width and height, in pixels.
using CocoBox = std::array<double, 4>;

struct DetectedBox {
  std::int64_t category = 0;
  CocoBox box{};
  double score = 0;
  RunLengths mask = {};  // of the image's pixels; without runs where none is found

  bool has_mask() const { return !mask.counts.empty(); }
};

/// Objects are counted and drawn from this score on.
inline constexpr double least_shown_score = 0.5;

}  // namespace ptrain

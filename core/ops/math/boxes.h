// Boxes and anchors: a fixed grid of boxes relative to which a detector's boxes are learnt.
#pragma once

#include "core/base/host_device.h"

#include <cmath>
#include <cstdint>

namespace ptrain {

/// Corners in px.
struct CornerBox {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  PTRAIN_HD_INLINE float width() const { return x1 - x0; }
  PTRAIN_HD_INLINE float height() const { return y1 - y0; }
  PTRAIN_HD_INLINE float area() const { return width() * height(); }
};

/// Four adjacent numbers.
PTRAIN_HD_INLINE CornerBox read_corners(const float* from) { return {from[0], from[1], from[2], from[3]}; }

/// Differences of a box from an anchor: of the centres in the anchor's sizes, of the logarithms of the sizes (Girshick
/// et al. 2014).
struct BoxDeltas {
  float x = 0, y = 0, width = 0, height = 0;
};

/// 0 if one is empty.
PTRAIN_HD_INLINE float intersection_over_union(const CornerBox& a, const CornerBox& b) {
  const float width = fminf(a.x1, b.x1) - fmaxf(a.x0, b.x0), height = fminf(a.y1, b.y1) - fmaxf(a.y0, b.y0);
  if (!(width > 0) || !(height > 0)) return 0;
  const float intersection = width * height;
  return intersection / (a.area() + b.area() - intersection);
}

/// The deltas from which decode_box() makes `box`.
PTRAIN_HD_INLINE BoxDeltas encode_box(const CornerBox& box, const CornerBox& anchor) {
  const float width = anchor.width(), height = anchor.height();
  return {((box.x0 + 0.5f * box.width()) - (anchor.x0 + 0.5f * width)) / width,
          ((box.y0 + 0.5f * box.height()) - (anchor.y0 + 0.5f * height)) / height, logf(box.width() / width),
          logf(box.height() / height)};
}

/// Factors of the differences of centres and of sizes, which bring them to similar magnitudes.
struct BoxWeights {
  float centre = 1, size = 1;
};
PTRAIN_HD_INLINE BoxDeltas operator*(const BoxDeltas& deltas, const BoxWeights& weights) {
  return {deltas.x * weights.centre, deltas.y * weights.centre, deltas.width * weights.size,
          deltas.height * weights.size};
}
PTRAIN_HD_INLINE BoxDeltas operator/(const BoxDeltas& deltas, const BoxWeights& weights) {
  return {deltas.x / weights.centre, deltas.y / weights.centre, deltas.width / weights.size,
          deltas.height / weights.size};
}

/// encode_box() times the weights; 0 where one of the boxes has no area.
PTRAIN_HD_INLINE BoxDeltas encode_match(const CornerBox& box, const CornerBox& anchor, const BoxWeights& weights) {
  const bool have_area = box.width() > 0 && box.height() > 0 && anchor.width() > 0 && anchor.height() > 0;
  return have_area ? encode_box(box, anchor) * weights : BoxDeltas{};
}

/// What a box has instead of an object's index.
struct BoxMatch {
  static constexpr std::int32_t background = -1, ignored = -2;
};

/// Sizes grow by no more than 1000 / 16, as in torchvision.
PTRAIN_HD_INLINE CornerBox decode_box(const BoxDeltas& deltas, const CornerBox& anchor) {
  constexpr float most = 4.135166556742356f;  // log(1000 / 16)
  const float width = anchor.width(), height = anchor.height();
  const float x = deltas.x * width + (anchor.x0 + 0.5f * width), y = deltas.y * height + (anchor.y0 + 0.5f * height);
  const float half_width = 0.5f * (expf(fminf(deltas.width, most)) * width);
  const float half_height = 0.5f * (expf(fminf(deltas.height, most)) * height);
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

/// Distances from the centre of a cell to the sides of a box, in the cell's extents.
struct SideDistances {
  float left = 0, top = 0, right = 0, bottom = 0;
};

/// The distances from which decode_distances() makes `box`.
PTRAIN_HD_INLINE SideDistances encode_distances(const CornerBox& box, const CornerBox& cell) {
  const float width = cell.width(), height = cell.height();
  const float x = cell.x0 + 0.5f * width, y = cell.y0 + 0.5f * height;
  return {(x - box.x0) / width, (y - box.y0) / height, (box.x1 - x) / width, (box.y1 - y) / height};
}
/// The box whose sides are at those distances.
PTRAIN_HD_INLINE CornerBox decode_distances(const SideDistances& distances, const CornerBox& cell) {
  const float width = cell.width(), height = cell.height();
  const float x = cell.x0 + 0.5f * width, y = cell.y0 + 0.5f * height;
  return {x - distances.left * width, y - distances.top * height, x + distances.right * width,
          y + distances.bottom * height};
}

/// What four numbers say of a box: its deltas from an anchor, or the distances of its sides from an anchor's centre.
enum class BoxForm { deltas, distances };

/// The box of four numbers, which are in that form.
PTRAIN_HD_INLINE CornerBox decode_box(BoxForm form, const BoxDeltas& numbers, const CornerBox& anchor) {
  if (form == BoxForm::deltas) return decode_box(numbers, anchor);
  return decode_distances({numbers.x, numbers.y, numbers.width, numbers.height}, anchor);
}

/// The part of a box that is in an image.
PTRAIN_HD_INLINE CornerBox clip_box(const CornerBox& box, float width, float height) {
  return {fminf(fmaxf(box.x0, 0), width), fminf(fmaxf(box.y0, 0), height), fminf(fmaxf(box.x1, 0), width),
          fminf(fmaxf(box.y1, 0), height)};
}

inline constexpr std::int64_t placement_columns = 5;  // of the tensor placements (core/data/image/framing.h)

/// The part of a box that is in what an image fills of a frame; `placement` is its row of the tensor placements, null
/// for all of the frame.
PTRAIN_HD_INLINE CornerBox clip_to_image(const CornerBox& box, float width, float height, const float* placement) {
  if (placement == nullptr) return clip_box(box, width, height);
  return clip_box(box, fminf(width, placement[2]), fminf(height, placement[3]));
}

/// The anchors of one feature map: at each location, boxes of several sizes and ratios around its upper left corner.
struct AnchorLevel {
  static constexpr int most_shapes = 15;

  std::int64_t first = 0;                   // anchor of the grid
  std::int32_t rows = 0, columns = 0;       // locations
  std::int32_t stride_y = 0, stride_x = 0;  // px between them
  std::int32_t per_location = 0;            // shapes
  CornerBox shapes[most_shapes];            // around (0, 0)

  PTRAIN_HD_INLINE std::int64_t count() const { return std::int64_t{rows} * columns * per_location; }
  /// The anchor at `row` and `column`.
  PTRAIN_HD_INLINE CornerBox at(std::int64_t row, std::int64_t column, int shape) const {
    const auto x = static_cast<float>(column * stride_x), y = static_cast<float>(row * stride_y);
    const CornerBox& box = shapes[shape];
    return {box.x0 + x, box.y0 + y, box.x1 + x, box.y1 + y};
  }
};

/// Anchors are numbered level by level, row by row, column by column.
struct AnchorGrid {
  static constexpr int most_levels = 8;

  std::int32_t levels = 0;
  AnchorLevel level[most_levels];

  PTRAIN_HD_INLINE std::int64_t count() const {
    return levels == 0 ? 0 : level[levels - 1].first + level[levels - 1].count();
  }
  PTRAIN_HD_INLINE int find_level(std::int64_t anchor) const {
    int i = levels - 1;
    while (anchor < level[i].first) --i;
    return i;
  }
  PTRAIN_HD_INLINE CornerBox at(std::int64_t anchor) const {
    const AnchorLevel& own = level[find_level(anchor)];
    const std::int64_t rest = anchor - own.first, location = rest / own.per_location;
    return own.at(location / own.columns, location % own.columns, static_cast<int>(rest % own.per_location));
  }
};

}  // namespace ptrain

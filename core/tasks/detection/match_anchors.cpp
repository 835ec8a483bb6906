// IoUs are compared with thresholds and with each other: as in PyTorch, they are not made of fused products and sums.
#include "core/tasks/detection/match_anchors.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

/// Locations of a level from `begin` up to, but not including, `end` whose anchors can touch an object.
struct Range {
  std::int64_t begin, end;

  Range(float object_begin, float object_end, float shape_begin, float shape_end, std::int32_t stride,
        std::int32_t count) {
    const auto first = static_cast<std::int64_t>(std::floor((object_begin - shape_end) / static_cast<float>(stride)));
    const auto last = static_cast<std::int64_t>(std::ceil((object_end - shape_begin) / static_cast<float>(stride)));
    begin = std::clamp<std::int64_t>(first, 0, count);
    end = std::clamp<std::int64_t>(last + 1, begin, count);
  }
};

/// Calls visit(anchor, IoU) for every anchor that overlaps `object`.
template <typename Visit>
void visit_overlaps(const AnchorGrid& anchors, const CornerBox& object, Visit&& visit) {
  for (std::int32_t i = 0; i < anchors.levels; ++i) {
    const AnchorLevel& level = anchors.level[i];
    for (int shape = 0; shape < level.per_location; ++shape) {
      const CornerBox& box = level.shapes[shape];
      const Range rows(object.y0, object.y1, box.y0, box.y1, level.stride_y, level.rows);
      const Range columns(object.x0, object.x1, box.x0, box.x1, level.stride_x, level.columns);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        for (std::int64_t column = columns.begin; column < columns.end; ++column) {
          const float overlap = intersection_over_union(object, level.at(row, column, shape));
          const std::int64_t location = row * level.columns + column;
          if (overlap > 0) visit(level.first + location * level.per_location + shape, overlap);
        }
      }
    }
  }
}

}  // namespace

AnchorMatches match_anchors(const AnchorForm& form, const AnchorGrid& anchors, std::span<const CornerBox> objects) {
  const auto count = static_cast<std::size_t>(anchors.count());
  std::vector<float> best(count), of_object(objects.size());
  std::vector<std::int32_t> object_of(count, BoxMatch::background);
  for (std::size_t object = 0; object < objects.size(); ++object) {
    visit_overlaps(anchors, objects[object], [&](std::int64_t anchor, float overlap) {
      const auto at = static_cast<std::size_t>(anchor);
      of_object[object] = std::max(of_object[object], overlap);
      if (overlap <= best[at]) return;
      best[at] = overlap;
      object_of[at] = static_cast<std::int32_t>(object);
    });
  }
  std::vector<bool> is_best(count);
  for (std::size_t object = 0; object < objects.size(); ++object) {
    visit_overlaps(anchors, objects[object], [&](std::int64_t anchor, float overlap) {
      if (overlap == of_object[object]) is_best[static_cast<std::size_t>(anchor)] = true;
    });
  }
  AnchorMatches matches;
  matches.objects = std::move(object_of);
  for (std::size_t at = 0; at < count; ++at) {
    if (best[at] >= form.positive || is_best[at]) {
      ++matches.positives;
    } else {
      matches.objects[at] = best[at] < form.background ? BoxMatch::background : BoxMatch::ignored;
    }
  }
  return matches;
}

void write_box_targets(const AnchorGrid& anchors, const AnchorMatches& matches, std::span<const CornerBox> objects,
                       std::span<float> deltas) {
  for (std::size_t i = 0; i < matches.objects.size(); ++i) {
    if (matches.objects[i] < 0) continue;
    const CornerBox& object = objects[static_cast<std::size_t>(matches.objects[i])];
    const BoxDeltas from_anchor = encode_box(object, anchors.at(static_cast<std::int64_t>(i)));
    const std::array values{from_anchor.x, from_anchor.y, from_anchor.width, from_anchor.height};
    std::ranges::copy(values, deltas.begin() + static_cast<std::ptrdiff_t>(4 * i));
  }
}

}  // namespace ptrain

// IoUs are compared with thresholds and with each other: as in PyTorch, they are not made of fused products and sums.
#include "core/tasks/detection/anchors.h"

#include "core/base/errors.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

constexpr int first_level = 3, last_level = 7;  // of strides 2^3 to 2^7
constexpr float positive_overlap = 0.5f, background_overlap = 0.4f;

/// Extent of a feature map: each level halves it, rounding up.
std::int32_t halved(std::int32_t extent, int times) {
  for (int i = 0; i < times; ++i) extent = (extent + 1) / 2;
  return extent;
}

/// Ratio by ratio, each in three sizes.
void set_shapes(AnchorLevel& level, int side) {
  constexpr std::array ratios{0.5f, 1.0f, 2.0f};
  for (const float ratio : ratios) {
    for (const double step : {0.0, 1.0 / 3.0, 2.0 / 3.0}) {
      const auto size = static_cast<float>(static_cast<int>(side * std::pow(2.0, step)));
      const float tall = std::sqrt(ratio), wide = 1 / tall;
      const float x = std::nearbyint(wide * size / 2), y = std::nearbyint(tall * size / 2);
      level.shapes[level.per_location++] = {-x, -y, x, y};
    }
  }
}

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

AnchorGrid make_anchors(ImageSize size) {
  constexpr int first_side = 32;
  AnchorGrid grid;
  std::int64_t next = 0;
  for (int i = first_level; i <= last_level; ++i) {
    AnchorLevel& level = grid.level[grid.levels++];
    level.first = next;
    level.rows = halved(size.height, i);
    level.columns = halved(size.width, i);
    level.stride_y = size.height / level.rows;
    level.stride_x = size.width / level.columns;
    set_shapes(level, first_side << (i - first_level));
    next += level.count();
  }
  return grid;
}

AnchorMatches match_anchors(const AnchorGrid& anchors, std::span<const CornerBox> objects) {
  const auto count = static_cast<std::size_t>(anchors.count());
  std::vector<float> best(count), of_object(objects.size());
  std::vector<std::int32_t> object_of(count, AnchorMatches::background);
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
    if (best[at] >= positive_overlap || is_best[at]) {
      ++matches.positives;
    } else {
      matches.objects[at] = best[at] < background_overlap ? AnchorMatches::background : AnchorMatches::ignored;
    }
  }
  return matches;
}

}  // namespace ptrain

#include "core/data/boxes/text_boxes.h"

#include "core/data/image/framing.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

constexpr std::size_t box_columns = 9;
constexpr float no_box = -1;  // in the last column
constexpr float not_learnt = -1;

struct Extent {
  double left, top, right, bottom;
};

Extent find_extent(const Quad& quad) {
  const auto [left, right] = std::ranges::minmax(quad, {}, &Point2d::x);
  const auto [top, bottom] = std::ranges::minmax(quad, {}, &Point2d::y);
  return {left.x, top.y, right.x, bottom.y};
}

/// Boxes that are low or narrow are ignored, too.
bool is_learnable(const TextBox& box) {
  constexpr double least_side = 8;
  const Extent extent = find_extent(box.corners);
  return !box.ignored && extent.right - extent.left >= least_side && extent.bottom - extent.top >= least_side;
}

/// Calls `visit`(index, centre) for the pixels of an image whose centres are at most `margin` outside a box's extent.
template <typename Visit>
void visit_pixels(const Quad& quad, double margin, ImageSize size, const Visit& visit) {
  const Extent extent = find_extent(quad);
  const auto first = [margin](double low) { return static_cast<int>(std::max(0.0, std::floor(low - margin))); };
  const auto last = [margin](double high, int side) {
    return static_cast<int>(std::min<double>(side, std::ceil(high + margin)));
  };
  const int right = last(extent.right, size.width), bottom = last(extent.bottom, size.height);
  for (int y = first(extent.top); y < bottom; ++y) {
    for (int x = first(extent.left); x < right; ++x) {
      visit(static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) + static_cast<std::size_t>(x),
            Point2d{x + 0.5, y + 0.5});
    }
  }
}

void write_box(const Quad& quad, ImageSize size, std::span<float> text_map, std::span<float> threshold_map) {
  constexpr double shrink_ratio = 0.4;
  constexpr float lowest = 0.3f, highest = 0.7f;
  const double reach = compute_area(quad) * (1 - shrink_ratio * shrink_ratio) / compute_perimeter(quad);
  visit_pixels(quad, reach, size, [&](std::size_t at, Point2d centre) {
    const double distance = compute_distance(quad, centre);
    const bool inside = contains(quad, centre);
    if (inside && distance >= reach) text_map[at] = 1;
    if (!inside && distance > reach) return;
    const auto nearness = static_cast<float>(std::max(0.0, 1 - distance / reach));
    threshold_map[at] = std::max(threshold_map[at], lowest + (highest - lowest) * nearness);
  });
}

void write_rows(std::span<const TextBox> boxes, std::span<float> rows) {
  invariant(boxes.size() * box_columns <= rows.size(), "a sample has more boxes than rows");
  std::ranges::fill(rows, no_box);
  for (const TextBox& one : boxes) {
    for (std::size_t i = 0; i < one.corners.size(); ++i) {
      rows[2 * i] = static_cast<float>(one.corners[i].x);
      rows[2 * i + 1] = static_cast<float>(one.corners[i].y);
    }
    rows[box_columns - 1] = one.ignored ? 1 : 0;
    rows = rows.subspan(box_columns);
  }
}

}  // namespace

std::int64_t remove_unusable(std::vector<TextBox>& boxes) {
  constexpr double least_area = 1;  // px^2
  return static_cast<std::int64_t>(std::erase_if(boxes, [](const TextBox& one) {
    return has_crossing_sides(one.corners) || compute_area(one.corners) < least_area;
  }));
}

std::vector<TensorSpec> with_text_boxes(std::vector<TensorSpec> inputs, std::size_t most) {
  const Shape image = inputs.front().shape, map{image[0], image[1]};
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(1, most));
  inputs.push_back(placement_tensor());
  inputs.push_back({tensor_names::text_boxes, DType::f32, {rows, static_cast<std::int64_t>(box_columns)}, no_box});
  inputs.push_back({tensor_names::text_map, DType::f32, map, not_learnt});
  inputs.push_back({tensor_names::threshold_map, DType::f32, map, not_learnt});
  return inputs;
}

void write_text_targets(std::span<const TextBox> boxes, ImageSize size, const SampleRow& out) {
  write_rows(boxes, out.at<float>(tensor_names::text_boxes));
  const std::span<float> text_map = out.at<float>(tensor_names::text_map);
  const std::span<float> threshold_map = out.at<float>(tensor_names::threshold_map);
  std::ranges::fill(text_map, 0.0f);
  std::ranges::fill(threshold_map, not_learnt);
  for (const TextBox& one : boxes) {
    if (is_learnable(one)) write_box(one.corners, size, text_map, threshold_map);
  }
  for (const TextBox& one : boxes) {
    if (is_learnable(one)) continue;
    visit_pixels(one.corners, 0, size, [&](std::size_t at, Point2d centre) {
      if (contains(one.corners, centre)) text_map[at] = not_learnt;
    });
  }
}

std::vector<TextBox> read_text_boxes(std::span<const float> rows) {
  std::vector<TextBox> boxes;
  for (; rows.size() >= box_columns && rows[box_columns - 1] != no_box; rows = rows.subspan(box_columns)) {
    TextBox& one = boxes.emplace_back();
    one.ignored = rows[box_columns - 1] == 1;
    for (std::size_t i = 0; i < one.corners.size(); ++i) one.corners[i] = {rows[2 * i], rows[2 * i + 1]};
  }
  return boxes;
}

}  // namespace ptrain

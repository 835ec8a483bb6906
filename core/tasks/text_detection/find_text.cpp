#include "core/tasks/text_detection/find_text.h"

#include "core/data/boxes/text_boxes.h"
#include "core/data/image/framing.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ptrain {
namespace {

constexpr float least_probability = 0.3f;
constexpr double least_score = 0.6, least_side = 3, unclip_ratio = 1.5;
constexpr std::size_t most_regions = 1000;

/// The pixels of text that one region has, as they are found: each is visited once.
class RegionFinder {
 public:
  RegionFinder(std::span<const float> probabilities, ImageSize size)
      : probabilities_(probabilities), size_(size), visited_(probabilities.size()) {}

  /// The corners of the pixels that are connected to `first`, also over corners. Empty where it is no text or known.
  std::vector<Point2d> take_region(std::size_t first) {
    std::vector<Point2d> corners;
    visit(first);
    while (!pending_.empty()) {
      const std::size_t at = pending_.back();
      pending_.pop_back();
      const auto width = static_cast<std::size_t>(size_.width);
      const auto x = static_cast<int>(at % width), y = static_cast<int>(at / width);
      for (int down = 0; down <= 1; ++down) {
        for (int right = 0; right <= 1; ++right) {
          corners.push_back({static_cast<double>(x + right), static_cast<double>(y + down)});
        }
      }
      visit_neighbours(x, y);
    }
    return corners;
  }

 private:
  void visit(std::size_t at) {
    if (visited_[at] || !(probabilities_[at] > least_probability)) return;
    visited_[at] = true;
    pending_.push_back(at);
  }

  void visit_neighbours(int x, int y) {
    for (int row = std::max(0, y - 1); row <= std::min(size_.height - 1, y + 1); ++row) {
      for (int column = std::max(0, x - 1); column <= std::min(size_.width - 1, x + 1); ++column) {
        visit(static_cast<std::size_t>(row) * static_cast<std::size_t>(size_.width) + static_cast<std::size_t>(column));
      }
    }
  }

  std::span<const float> probabilities_;
  ImageSize size_;
  std::vector<bool> visited_;
  std::vector<std::size_t> pending_;
};

/// Of the pixels whose centres are in the rectangle, which has some.
double compute_mean(std::span<const float> probabilities, ImageSize size, const Quad& rectangle) {
  const auto [left, right] = std::ranges::minmax(rectangle, {}, &Point2d::x);
  const auto [top, bottom] = std::ranges::minmax(rectangle, {}, &Point2d::y);
  const auto first = [](double low) { return static_cast<int>(std::max(0.0, std::floor(low))); };
  const auto last = [](double high, int side) { return static_cast<int>(std::min<double>(side, std::ceil(high))); };
  double sum = 0, count = 0;
  for (int y = first(top.y); y < last(bottom.y, size.height); ++y) {
    for (int x = first(left.x); x < last(right.x, size.width); ++x) {
      if (!contains(rectangle, {x + 0.5, y + 0.5})) continue;
      sum += double{probabilities[static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                                  static_cast<std::size_t>(x)]};
      ++count;
    }
  }
  return sum / count;
}

std::optional<FoundText> measure_region(std::span<const Point2d> corners, std::span<const float> probabilities,
                                        ImageSize size) {
  const Quad rectangle = find_rectangle(corners);
  const double area = compute_area(rectangle), perimeter = compute_perimeter(rectangle);
  const double across = std::hypot(rectangle[3].x - rectangle[0].x, rectangle[3].y - rectangle[0].y);
  if (std::min(across, area / across) < least_side) return std::nullopt;
  const double score = compute_mean(probabilities, size, rectangle);
  if (score < least_score) return std::nullopt;
  return FoundText{expand_rectangle(rectangle, area * unclip_ratio / perimeter), score};
}

}  // namespace

std::vector<FoundText> find_text(std::span<const float> probabilities, ImageSize size) {
  RegionFinder finder(probabilities, size);
  std::vector<FoundText> found;
  std::size_t regions = 0;
  for (std::size_t first = 0; first < probabilities.size() && regions < most_regions; ++first) {
    const std::vector<Point2d> corners = finder.take_region(first);
    if (corners.empty()) continue;
    ++regions;
    if (const auto text = measure_region(corners, probabilities, size)) found.push_back(*text);
  }
  return found;
}

std::vector<FoundText> find_text(const Batch& batch, const Batch& scores, std::int64_t row) {
  const HostTensor& map = scores.at(tensor_names::text_probabilities);
  const ImageSize frame(map.shape()[1], map.shape()[2]);
  const HostTensor* const placements = batch.find(tensor_names::placements);
  const ImageSize filled =
      placements == nullptr ? frame : read_placement(placements->row<float>(row)).filled_size(frame);
  const std::span<const float> all = map.row<float>(row);
  std::vector<float> probabilities;
  for (int y = 0; y < filled.height; ++y) {
    const auto line = all.subspan(static_cast<std::size_t>(y) * static_cast<std::size_t>(frame.width),
                                  static_cast<std::size_t>(filled.width));
    probabilities.insert(probabilities.end(), line.begin(), line.end());
  }
  return find_text(probabilities, filled);
}

}  // namespace ptrain

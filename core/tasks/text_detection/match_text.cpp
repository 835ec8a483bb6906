#include "core/tasks/text_detection/match_text.h"

#include <algorithm>
#include <vector>

namespace ptrain {
namespace {

constexpr double least_overlap = 0.5;

bool is_covered_by_ignored(const FoundText& one, std::span<const TextBox> expected) {
  const double area = compute_area(one.corners);
  return std::ranges::any_of(expected, [&](const TextBox& box) {
    return box.ignored && compute_intersection(box.corners, one.corners) > least_overlap * area;
  });
}

bool overlaps_enough(const Quad& a, const Quad& b) {
  const double both = compute_intersection(a, b);
  return both > least_overlap * (compute_area(a) + compute_area(b) - both);
}

}  // namespace

TextMatches match_text(std::span<const TextBox> expected, std::span<const FoundText> found) {
  std::vector<Quad> open;  // found boxes without a match
  for (const FoundText& one : found) {
    if (!is_covered_by_ignored(one, expected)) open.push_back(one.corners);
  }
  TextMatches matches;
  matches.found = std::ssize(open);
  for (const TextBox& box : expected) {
    if (box.ignored) continue;
    ++matches.expected;
    const auto match = std::ranges::find_if(open, [&](const Quad& one) { return overlaps_enough(box.corners, one); });
    if (match == open.end()) continue;
    ++matches.matched;
    open.erase(match);
  }
  return matches;
}

}  // namespace ptrain

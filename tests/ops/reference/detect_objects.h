// Detection as it is described, in double: every pair of an anchor and a class, sorted, and compared with all kept.
#pragma once

#include "core/ops/detection/detect_objects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace ptrain::testing::reference {

struct DetectedObject {
  std::array<double, 4> box{};  // corners
  double score = 0;
  std::size_t label = 0, position = 0;
  std::size_t group = 0;  // objects of one group suppress each other

  double overlap(const DetectedObject& other) const {
    const double width = std::min(box[2], other.box[2]) - std::max(box[0], other.box[0]);
    const double height = std::min(box[3], other.box[3]) - std::max(box[1], other.box[1]);
    if (width <= 0 || height <= 0) return 0;
    const auto area = [](const DetectedObject& o) { return (o.box[2] - o.box[0]) * (o.box[3] - o.box[1]); };
    return width * height / (area(*this) + area(other) - width * height);
  }
};

inline std::array<double, 4> decode(const CornerBox& anchor, const double* deltas, const DetectionAttributes& a) {
  const double width = double{anchor.x1} - double{anchor.x0}, height = double{anchor.y1} - double{anchor.y0};
  const double x = deltas[0] * width + double{anchor.x0} + width / 2,
               y = deltas[1] * height + double{anchor.y0} + height / 2;
  const auto clip = [](double value, float side) { return std::clamp(value, 0.0, double{side}); };
  if (a.form == BoxForm::distances) {
    const double centre_x = double{anchor.x0} + width / 2, centre_y = double{anchor.y0} + height / 2;
    return {clip(centre_x - deltas[0] * width, a.width), clip(centre_y - deltas[1] * height, a.height),
            clip(centre_x + deltas[2] * width, a.width), clip(centre_y + deltas[3] * height, a.height)};
  }
  const double most = std::log(1000.0 / 16), w = std::exp(std::min(deltas[2], most)) * width,
               h = std::exp(std::min(deltas[3], most)) * height;
  return {clip(x - w / 2, a.width), clip(y - h / 2, a.height), clip(x + w / 2, a.width), clip(y + h / 2, a.height)};
}

/// The rows [per_image, 6] of one image: logits [A, K], deltas [A, 4].
inline std::vector<double> detect_objects(const DetectionAttributes& a, const double* logits, const double* deltas,
                                          std::size_t classes) {
  std::vector<DetectedObject> candidates;
  for (int i = 0; i < a.anchors.levels; ++i) {
    const AnchorLevel& level = a.anchors.level[i];
    std::vector<DetectedObject> found;
    for (auto anchor = static_cast<std::size_t>(level.first);
         anchor < static_cast<std::size_t>(level.first + level.count()); ++anchor) {
      for (std::size_t label = 0; label < classes; ++label) {
        const std::size_t position = anchor * classes + label;
        const double score = 1 / (1 + std::exp(-logits[position]));
        if (!(score > double{a.score})) continue;
        const std::array<double, 4> box =
            decode(a.anchors.at(static_cast<std::int64_t>(anchor)), deltas + 4 * anchor, a);
        const bool by_class = a.within == SuppressWithin::classes;
        found.push_back({box, score, label, position, by_class ? label : static_cast<std::size_t>(i)});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& one, const auto& other) { return one.score > other.score; });
    found.resize(std::min(found.size(), static_cast<std::size_t>(a.per_level)));
    candidates.insert(candidates.end(), found.begin(), found.end());
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& one, const auto& other) {
    return one.score != other.score ? one.score > other.score : one.position < other.position;
  });
  std::vector<DetectedObject> kept;
  for (const DetectedObject& one : candidates) {
    const auto& [x0, y0, x1, y1] = one.box;
    if (x1 - x0 < double{a.least_side} || y1 - y0 < double{a.least_side}) continue;
    const bool covered = std::ranges::any_of(kept, [&](const DetectedObject& other) {
      return other.group == one.group && other.overlap(one) > double{a.overlap};
    });
    if (!covered && kept.size() < static_cast<std::size_t>(a.per_image)) kept.push_back(one);
  }
  std::vector<double> rows;
  for (const DetectedObject& one : kept) {
    rows.insert(rows.end(), one.box.begin(), one.box.end());
    rows.insert(rows.end(), {one.score, static_cast<double>(one.label)});
  }
  while (rows.size() < static_cast<std::size_t>(a.per_image) * 6) rows.insert(rows.end(), {0, 0, 0, 0, 0, -1});
  return rows;
}

}  // namespace ptrain::testing::reference

// Greedy non-maximum suppression.
#pragma once

#include "core/cpu/cpu_kernels.h"
#include "core/ops/detection/detect_objects.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace ptrain::cpu {

struct Candidate {
  float rank;             // larger ones come first
  std::int64_t position;  // orders equal ones

  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position < other.position;
  }
};

struct FoundObject {
  CornerBox box;
  float score = 0;
  std::int64_t label = 0;
  std::int64_t group = 0;  // boxes of one group suppress each other
};

struct SuppressionLimits {
  float overlap;
  float least_side;        // px
  std::int32_t per_image;  // objects
};

/// Writes rows [per_image, DetectObjects::columns] of the candidates, which it sorts. `kept` is memory to reuse. `find`
/// makes a candidate's object.
template <typename Find>
void suppress(std::vector<Candidate>& candidates, const SuppressionLimits& limits, std::vector<FoundObject>& kept,
              float* rows, Find&& find) {
  std::sort(candidates.begin(), candidates.end());
  kept.clear();
  for (const Candidate& one : candidates) {
    if (kept.size() == static_cast<std::size_t>(limits.per_image)) break;
    const FoundObject found = find(one);
    if (!(found.box.width() >= limits.least_side) || !(found.box.height() >= limits.least_side)) continue;
    const bool covered = std::ranges::any_of(kept, [&](const FoundObject& other) {
      return other.group == found.group && intersection_over_union(other.box, found.box) > limits.overlap;
    });
    if (covered) continue;
    kept.push_back(found);
    const float row[]{found.box.x0, found.box.y0, found.box.x1,
                      found.box.y1, found.score,  static_cast<float>(found.label)};
    rows = std::copy(std::begin(row), std::end(row), rows);
  }
  for (std::size_t i = kept.size(); i < static_cast<std::size_t>(limits.per_image); ++i) {
    const float none[]{0, 0, 0, 0, 0, -1};
    rows = std::copy(std::begin(none), std::end(none), rows);
  }
}

/// An image's row of an optional input of placements; null without it.
inline const float* find_placement(const KernelArgs& args, std::size_t input, std::int64_t image) {
  const bool is_given = args.inputs.size() > input && args.inputs[input] != nullptr;
  return is_given ? static_cast<const float*>(args.inputs[input]) + image * placement_columns : nullptr;
}

/// Four adjacent elements.
template <typename T>
BoxDeltas read_deltas(const T* from) {
  return {static_cast<float>(from[0]), static_cast<float>(from[1]), static_cast<float>(from[2]),
          static_cast<float>(from[3])};
}

}  // namespace ptrain::cpu

// Boxes whose sides have distributions: logits of the distances 0, 1, 2, .. of each side from an anchor's centre (Li et
// al. 2020, "Generalized focal loss"), and how they are learnt.
#pragma once

#include "core/ops/math/boxes.h"

#include <cmath>

namespace ptrain {

inline constexpr int box_sides = 4;

/// The softmax of the logits of one side: the probability of distance k is exp(logit - log_sum).
struct SideDistribution {
  float log_sum, mean;

  PTRAIN_HD_INLINE float probability(float logit) const { return expf(logit - log_sum); }
};

/// Of `count` numbers that load(k) gives.
template <typename Load>
PTRAIN_HD_INLINE SideDistribution describe_side(std::int64_t count, const Load& load) {
  float largest = load(0);
  for (std::int64_t k = 1; k < count; ++k) largest = fmaxf(largest, load(k));
  float sum = 0, moment = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const float part = expf(load(k) - largest);
    sum += part;
    moment += part * static_cast<float>(k);
  }
  return {largest + logf(sum), moment / sum};
}

/// A distance as a share of each of the two whole ones around it.
struct SplitDistance {
  std::int64_t below;
  float share_above;

  /// Of `count` distances; others count as the nearest in [0, count - 1.01].
  PTRAIN_HD_INLINE SplitDistance(float distance, std::int64_t count) {
    const float inside = fminf(fmaxf(distance, 0.0f), static_cast<float>(count - 1) - 0.01f);
    below = static_cast<std::int64_t>(inside);
    share_above = inside - static_cast<float>(below);
  }
  PTRAIN_HD_INLINE float share(std::int64_t k) const {
    return k == below ? 1 - share_above : (k == below + 1 ? share_above : 0.0f);
  }
};

/// The cross entropy of a side's distribution: the distribution focal loss.
template <typename Load>
PTRAIN_HD_INLINE float side_cross_entropy(const SideDistribution& side, const SplitDistance& wanted, const Load& load) {
  return side.log_sum - (1 - wanted.share_above) * load(wanted.below) - wanted.share_above * load(wanted.below + 1);
}

/// The overlap loss 1 - GIoU (Rezatofighi et al. 2019) of two boxes around one point, and its derivatives by the
/// distances of the first.
struct OverlapLoss {
  float value;
  SideDistances gradient;
};
/// Of the boxes at those distances.
PTRAIN_HD_INLINE OverlapLoss overlap_loss(const SideDistances& box, const SideDistances& wanted) {
  constexpr float least = 1e-10f;  // keeps the quotients of empty boxes finite
  const float width = box.left + box.right, height = box.top + box.bottom;
  const float common_width = fminf(box.left, wanted.left) + fminf(box.right, wanted.right);
  const float common_height = fminf(box.top, wanted.top) + fminf(box.bottom, wanted.bottom);
  const float hull_width = fmaxf(box.left, wanted.left) + fmaxf(box.right, wanted.right);
  const float hull_height = fmaxf(box.top, wanted.top) + fmaxf(box.bottom, wanted.bottom);
  const float common = fmaxf(common_width, 0.0f) * fmaxf(common_height, 0.0f);
  const float both = width * height + (wanted.left + wanted.right) * (wanted.top + wanted.bottom) - common + least;
  const float hull = hull_width * hull_height + least;
  // Derivatives by the three areas; `both` has that of the box and, subtracted, the common one.
  const float by_both = common / (both * both) - 1 / hull, by_common = -1 / both - by_both,
              by_hull = both / (hull * hull);
  const auto derivative = [&](float own, float other, float across, float common_across, float hull_across) {
    const bool overlaps = common_width > 0 && common_height > 0;
    return by_both * across + (own < other && overlaps ? by_common * common_across : 0.0f) +
           (own > other ? by_hull * hull_across : 0.0f);
  };
  return {2 - common / both - both / hull,
          {derivative(box.left, wanted.left, height, common_height, hull_height),
           derivative(box.top, wanted.top, width, common_width, hull_width),
           derivative(box.right, wanted.right, height, common_height, hull_height),
           derivative(box.bottom, wanted.bottom, width, common_width, hull_width)}};
}

}  // namespace ptrain

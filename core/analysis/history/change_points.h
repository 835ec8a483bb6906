// Where the level of a noisy series changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

struct ChangePoint {
  std::size_t at = 0;  // index of the first value of the new level
  double p = 1;        // fraction of permutations that split as clearly
};

/// Change points of `values` in order, by E-divisive: the split with the largest energy distance between its sides,
/// weighted by their sizes, is kept when at most `significance` of random orders have one as large; then both sides are
/// searched (Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data",
/// JASA 109(505), 2014, with exponent 1; for performance histories: Daly et al., "The use of change point detection to
/// identify software performance regressions in a continuous integration system", ICPE 2020). First, values further
/// than three deviations (1.4826 times the median absolute one) from the median are clipped, since one stalled
/// measurement would hide a small step. For exchangeable values, `significance` is the chance of any change point. The
/// seed is fixed: the same values always give the same points.
std::vector<ChangePoint> find_change_points(std::span<const double> values, double significance);

/// Fewest values with which a change can be significant, however clear it is.
std::int64_t fewest_points(double significance);
/// Fewest values at the new level, out of `count`, for a change at the end to be significant; 0 when none suffices.
std::int64_t fewest_points_after(std::int64_t count, double significance);

}  // namespace ptrain

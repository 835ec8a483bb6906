// Where the level of a noisy series changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

struct ChangePoint {
  std::size_t at = 0;  // the first value of the new level
  double p = 1;        // share of permutations that part as clearly
};

/// Change points of `values` in order, by E-divisive: the split whose sides' energy distance, weighted by their sizes,
/// is largest, kept when at most `significance` of random orders of the values have one as large, and so on within both
/// sides (Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data", JASA
/// 109(505), 2014, with exponent 1; for histories of performance: Daly et al., "The use of change point detection to
/// identify software performance regressions in a continuous integration system", ICPE 2020). Values further than three
/// deviations (1.4826 times the median absolute one) from the median are pulled in to there first, since one stalled
/// measurement would hide a small step. Of exchangeable values `significance` is the chance of any change point. The
/// orders are drawn from a fixed seed: the same values always give the same points.
std::vector<ChangePoint> find_change_points(std::span<const double> values, double significance);

/// Fewest values of which a change can be significant, however clear it is.
std::int64_t fewest_points(double significance);
/// Fewest of `count` values that must be of a new level at the end for it to be significant; 0 when none suffices.
std::int64_t fewest_points_after(std::int64_t count, double significance);

}  // namespace ptrain

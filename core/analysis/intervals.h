// Intervals for few, skewed samples: exact, from ranks, without an assumed distribution.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <span>

namespace ptrain {

struct Interval {
  double estimate = 0, lower = 0, upper = 0;
  bool bounded = false;  // false: too few values for this confidence; lower and upper then are the extremes seen

  double half_width() const { return (upper - lower) / 2; }

  void describe(Fields& field) { describe_bounds(field, "null: too few runs"); }
  /// `lower_help` says when there are no bounds.
  void describe_bounds(Fields& field, const char* lower_help);
};

/// Of a change given as a logarithm: in percent of what it was.
Interval in_percent(const Interval& logs);

/// Of the centre of `values`: the Hodges-Lehmann estimate (median of the pairwise means) and the interval that inverts
/// Wilcoxon's signed-rank test (Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods", 3rd ed., 3.2-3.3).
/// Exact for differences within pairs whose order was drawn at random; `confidence` such as 0.95, two-sided.
Interval signed_rank_interval(std::span<const double> values, double confidence);
/// Of the shift from `base` to `changed`, independent samples: median of the differences, inverting the rank-sum test
/// (same book, 4.2-4.3).
Interval rank_sum_interval(std::span<const double> base, std::span<const double> changed, double confidence);

/// Of the centre of few `values`: the Hodges-Lehmann estimate; its bounds are signed_rank_interval's where these values
/// suffice for it, below that Student's around the mean, with two fifths of the tails, since step times are skewed.
/// Unbounded for fewer than two values.
Interval centre_interval(std::span<const double> values, double confidence);

/// Variance of a share `part` (0 to 1) of `samples` that were counted: binomial, with two more counted and two more not
/// (Agresti and Coull, "Approximate is better than exact", The American Statistician 52(2), 1998), so that a share of 1
/// is not certain.
double counting_error(double part, std::int64_t samples);

/// Fewest values for which signed_rank_interval is bounded: 6 at 0.95.
std::int64_t fewest_pairs(double confidence);
/// Fewest values on each side for which rank_sum_interval is bounded: 4 at 0.95.
std::int64_t fewest_of_each(double confidence);

}  // namespace ptrain

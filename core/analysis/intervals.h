// Intervals for few, skewed samples: exact, from ranks, without an assumed distribution.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <span>

namespace ptrain {

struct Interval {
  double estimate = 0, lower = 0, upper = 0;
  bool bounded = false;  // false: too few values for this confidence; lower and upper are the sample's extremes

  double half_width() const { return (upper - lower) / 2; }

  void describe(Fields& field) { describe_bounds(field, "null: too few runs"); }
  /// `lower_help` says when there are no bounds.
  void describe_bounds(Fields& field, const char* lower_help);
};

/// Converts an interval of logarithms to percent of change.
Interval in_percent(const Interval& logs);

/// Interval of the centre of `values`: the Hodges-Lehmann estimate (median of the pairwise means), with bounds that
/// invert Wilcoxon's signed-rank test (Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods", 3rd ed.,
/// 3.2-3.3). Exact for differences within pairs in random order; `confidence` such as 0.95, two-sided.
Interval signed_rank_interval(std::span<const double> values, double confidence);
/// Interval of the shift from `base` to `changed`, independent samples: median of the differences, inverting the
/// rank-sum test (same book, 4.2-4.3).
Interval rank_sum_interval(std::span<const double> base, std::span<const double> changed, double confidence);

/// Interval of the centre of few `values`: the Hodges-Lehmann estimate, with signed_rank_interval's bounds if there are
/// enough values, else Student's around the mean with two fifths of the tails, since step times are skewed. Unbounded
/// for fewer than two values.
Interval centre_interval(std::span<const double> values, double confidence);

/// Variance of a fraction `part` (0 to 1) of `samples`: binomial, with two successes and two failures added (Agresti
/// and Coull, "Approximate is better than exact", The American Statistician 52(2), 1998), so that a fraction of 1 is
/// not certain.
double counting_error(double part, std::int64_t samples);

/// Fewest values for which signed_rank_interval is bounded: 6 at 0.95.
std::int64_t fewest_pairs(double confidence);
/// Fewest values on each side for which rank_sum_interval is bounded: 4 at 0.95.
std::int64_t fewest_of_each(double confidence);

}  // namespace ptrain

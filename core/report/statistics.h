// Summary of a series of times, and throughput as samples over time.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <span>

namespace ptrain {

struct Statistics {
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0;
  double stdev = 0;  // of the sample (n - 1); 0 for fewer than two values
  std::int64_t count = 0;

  void describe(Fields& field) {
    field("mean", mean, "");
    field("p50", p50, "");
    field("p90", p90, "");
    field("p95", p95, "");
    field("p99", p99, "");
    field("stdev", stdev, "sample standard deviation (n - 1)");
    field("count", count, "values");
  }
};

/// Percentiles interpolate linearly between the two nearest ranks (NumPy's default). All 0 for no values.
Statistics summarize(std::span<const double> values);

/// The value below which `part` (0 to 1) of the values lie, interpolated as in summarize; 0 for no values.
double quantile(std::span<const double> values, double part);

/// Factor from the median absolute deviation to a normal distribution's standard deviation.
inline constexpr double deviation_scale = 1.4826;

/// Natural logarithm of the number of ways to choose `k` of `n`, 0 <= k <= n.
double log_choose(std::int64_t n, std::int64_t k);

/// The quantile of the standard normal distribution for 0 < p < 1, to about 1e-9 (erfc inverted by bisection).
double normal_quantile(double p);

/// The quantile of Student's t distribution with `freedom` >= 1 degrees, for 0.5 <= p < 1 (its distribution as a finite
/// sum: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4; inverted by bisection).
double student_quantile(double p, std::int64_t freedom);

}  // namespace ptrain

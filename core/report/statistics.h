// Summary of a series of times, and throughput as samples over time.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>

namespace ptrain {

struct Statistics {
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0;
  double stdev = 0;  // of the sample (n - 1); 0 for fewer than two values
  std::int64_t count = 0;
};

/// Percentiles interpolate linearly between the two nearest ranks (NumPy's default). All 0 for no values.
Statistics summarize(std::span<const double> values);

/// The value below which `part` (0 to 1) of the values lie, interpolated as in summarize; 0 for no values.
double quantile(std::span<const double> values, double part);

/// The standard normal distribution's quantile, for 0 < p < 1, to about 1e-9 (inverted by bisection from erfc).
double normal_quantile(double p);

void to_json(nlohmann::json& json, const Statistics& statistics);
void from_json(const nlohmann::json& json, Statistics& statistics);

}  // namespace ptrain

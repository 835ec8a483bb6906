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

void to_json(nlohmann::json& json, const Statistics& statistics);

}  // namespace ptrain

// MLPerf's server scenario: the highest rate of random arrivals at which latencies keep a bound.
#pragma once

#include "core/infer/scenarios.h"

namespace ptrain {

/// Results of arrivals at one rate.
struct Arrivals {
  double rate = 0;                // actual samples/s, which differs from the requested rate by chance
  std::vector<double> latencies;  // ms, from a sample's arrival to its answer
  double seconds = 0;
  EarlyStopping held;  // met: the bound was kept
};

/// The server under test: `answer(count)` computes `count` samples, at most `most` at once.
struct Server {
  std::function<void(std::int64_t count)> answer;
  std::int64_t most = 1;
};

/// Simulates a Poisson process of `rate`, answered in order of arrival, with all waiting samples in one batch. Ends
/// after `seconds` and the queries that early stopping requires, or as soon as too many are late. Throws Interrupted.
Arrivals serve_arrivals(const Server& server, double rate, double bound_ms, double seconds, std::uint64_t seed);

/// Finds the highest rate held for options.seconds: approximately by bisection with short trials, then from above in
/// steps of 1 %. Throws as run_scenario.
Arrivals find_server_rate(const Server& server, const ScenarioOptions& options, const RateTried& tried);

}  // namespace ptrain

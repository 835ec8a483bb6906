// MLPerf's server scenario: the highest rate of random arrivals at which latencies keep a bound.
#pragma once

#include "core/infer/scenarios.h"

namespace ptrain {

/// What came of arrivals at one rate.
struct Arrivals {
  double rate = 0;                // samples/s that came, which is by chance not quite what was asked for
  std::vector<double> latencies;  // ms, from a sample's arrival to its answer
  double seconds = 0;
  EarlyStopping held;  // met: the bound was kept
};

/// What a server is to answer: `answer(count)` computes so many samples, at most `most` at once.
struct Server {
  std::function<void(std::int64_t count)> answer;
  std::int64_t most = 1;
};

/// A Poisson process of `rate`, answered in order of arrival, whatever waits at once. Ends after `seconds` and the
/// queries that early stopping takes, or as soon as more are late than can be. Throws Interrupted.
Arrivals serve_arrivals(const Server& server, double rate, double bound_ms, double seconds, std::uint64_t seed);

/// The highest rate that is held for options.seconds: about where it is by bisection with short trials, then from above
/// in steps of 1 %. Throws as run_scenario.
Arrivals find_server_rate(const Server& server, const ScenarioOptions& options, const RateTried& tried);

}  // namespace ptrain

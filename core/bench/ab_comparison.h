// Compares two ways to run one configuration, interleaved in fresh processes until the verdict is clear or time is up.
#pragma once

#include "core/analysis/compare.h"
#include "core/bench/bench_run.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ptrain {

struct ComparisonSide {
  BenchProgram program;
  std::vector<Override> overrides;
};

struct AbComparisonOptions {
  std::filesystem::path config;
  ComparisonSide base, changed;
  CompareRule rule;
  double budget_seconds = 120;
  double timeout_seconds = 600;  // per run
  std::int64_t seed = 1;         // of the order within each pair
  SteadyRule steady;
  Software software;
  bool fresh = false;             // delete earlier results in the folder
  std::filesystem::path folder;   // of the records: a benchmark with cases base and new
  std::function<bool()> stopped;  // polled; true ends the comparison
  /// Called after every pair, numbered from 1, with the comparison of all pairs so far.
  std::function<void(std::int64_t pair, const CaseComparison& so_far)> on_pair;
};

/// Runs pairs, each in random order from the seed, until the interval of the change is narrower than half the threshold
/// on each side and the verdict is not INCONCLUSIVE, or the whole interval exceeds the threshold, or another pair would
/// not fit the budget. An early end requires a narrow interval, so testing after every pair does not call noise a
/// change: noise would have to move the estimate by four of its standard errors. The configuration may use names from
/// `catalogs`. Throws Error{failed} when a run fails, Error{interrupted} when `stopped` returns true.
Comparison run_ab_comparison(const AbComparisonOptions& options, const Catalogs& catalogs);

}  // namespace ptrain

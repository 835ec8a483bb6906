// Two ways to run one configuration, by turns in fresh processes until the verdict is clear or the time is up.
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
  double timeout_seconds = 600;  // of one run
  std::int64_t seed = 1;         // of who goes first in each pair
  SteadyRule steady;
  Software software;
  bool fresh = false;                                         // throws away what is in the folder
  std::filesystem::path folder;                               // of the records; a benchmark of the cases base and new
  std::function<bool()> stopped;                              // asked often; true ends it
  std::function<void(const CaseComparison& so_far)> on_pair;  // after every pair
};

/// Runs pairs, the order within each drawn by the seed, until the interval of the change is narrower than half the
/// threshold on each side and the verdict is not INCONCLUSIVE, or the whole interval lies past the threshold, or
/// another pair would not fit the budget. Because an early end asks for a narrow interval, looking after every pair
/// does not call noise a change: noise would have to move the estimate by four of its standard errors. The
/// configuration names what `catalogs` have. Throws Error{failed} when a run fails, Error{interrupted} when `stopped`
/// says so.
Comparison run_ab_comparison(const AbComparisonOptions& options, const Catalogs& catalogs);

}  // namespace ptrain

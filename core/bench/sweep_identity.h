// Whether the runs in a folder belong to the sweep that is about to continue there.
#pragma once

#include "core/analysis/run_set.h"
#include "core/bench/bench_run.h"
#include "core/bench/suite.h"

#include <filesystem>
#include <string>

namespace ptrain {

/// Whether `folder` belongs to a benchmark with at least one recorded run.
bool has_records(const std::filesystem::path& folder);

/// The environment of a sweep.
struct SweepSetting {
  const BenchProgram& program;
  const Fingerprint& machine;
  const Software& software;
};

/// The first difference between the sweep of `before` and one of `suite`, in words with both values: machine, suite,
/// program, driver, library, seed of the order, or a key of a case's configuration. Empty if the second can continue
/// the first. Repeats, and cases that only one has, do not matter.
std::string sweep_difference(const SuiteRecord& before, const Suite& suite, const SweepSetting& now);

}  // namespace ptrain

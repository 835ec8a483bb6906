// Whether the runs in a folder are of the sweep that is to go on there.
#pragma once

#include "core/analysis/run_set.h"
#include "core/bench/bench_run.h"
#include "core/bench/suite.h"

#include <filesystem>
#include <string>

namespace ptrain {

/// Whether `folder` is a benchmark's and a run of it was recorded.
bool has_records(const std::filesystem::path& folder);

/// What a sweep runs with.
struct SweepSetting {
  const BenchProgram& program;
  const Fingerprint& machine;
  const Software& software;
};

/// What tells the sweep that `before` describes from one of `suite`: the machine, the suite, the program, a driver, a
/// library, the seed of the order, a key of a case's configuration; the first of them, in words, with both values.
/// Empty where the second goes on with the first. Repeats, and cases that only one has, do not matter.
std::string sweep_difference(const SuiteRecord& before, const Suite& suite, const SweepSetting& now);

}  // namespace ptrain

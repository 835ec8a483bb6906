// One case, once: a fresh process of ptrain, and the record of how it went.
#pragma once

#include "core/analysis/run_record.h"
#include "core/bench/suite.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace ptrain {

struct BenchProgram {
  std::filesystem::path path;
  std::string hash;  // of its bytes
};

/// The program itself when `path` is empty. Throws Error{usage} when it cannot be read.
BenchProgram bench_program(const std::filesystem::path& path = {});

struct BenchRun {
  std::filesystem::path config;
  std::vector<Override> overrides;
  double timeout_seconds = 600;
  SteadyRule steady;
  std::filesystem::path folder;  // gets record.json, report.json, metrics.jsonl, and log.txt when it did not end well
  std::map<std::string, std::string> environment;  // besides this process's
  RunRecord record;                                // with what is known before it runs
};

/// Run `repeat` of a case of a suite, with the case's own seed; its folder and place in the sweep are left to the
/// caller.
BenchRun make_bench_run(const Suite& suite, const BenchCase& item, std::int64_t repeat);

/// Runs it and writes its record. Empty when `stopped` ended it: then there is no record, as if it never ran.
std::optional<RunRecord> run_once(const BenchProgram& program, const BenchRun& run,
                                  const std::function<bool()>& stopped);

}  // namespace ptrain

// Runs one case once in a fresh process of ptrain or of a command, and records the outcome.
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
  std::string hash;  // of its contents
};

/// Identifies a program; an empty `path` means this one. Throws Error{usage} when it cannot be read.
BenchProgram bench_program(const std::filesystem::path& path = {});

/// The last line of a log with content, without "error: "; of a longer one the first 300 bytes.
std::string find_last_line(const std::filesystem::path& log);

struct BenchRun {
  std::filesystem::path config;
  std::vector<Override> overrides;
  BenchCommand command;  // run instead of ptrain, unless its text is empty
  double timeout_seconds = 600;
  SteadyRule steady;
  std::filesystem::path folder;  // for record.json, report.json, metrics.jsonl, and log.txt after a failure
  std::map<std::string, std::string> environment;  // added to this process's
  RunRecord record;                                // filled in as far as known before the run
};

/// Makes run `repeat` of a case of a suite, with the case's own seed; the caller sets its folder and place in the
/// sweep.
BenchRun make_bench_run(const Suite& suite, const BenchCase& item, std::int64_t repeat);

/// Runs it and writes its record. Empty when `stopped` ended it; then there is no record.
std::optional<RunRecord> run_once(const BenchProgram& program, const BenchRun& run,
                                  const std::function<bool()>& stopped);

}  // namespace ptrain

// Finds the commit with which a figure changed: builds and measures commits as a search chooses them.
#pragma once

#include "core/analysis/bisect/bisect_report.h"
#include "core/bench/git_history.h"
#include "core/bench/suite.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ptrain {

struct BisectOptions {
  std::string good, bad;           // as given
  std::vector<GitCommit> commits;  // from good to bad, of the current folder's repository
  std::string build;               // for /bin/sh in a commit's folder; empty: nothing is built
  Suite suite;                     // of one case; in a command {commit} is the hash
  std::filesystem::path program;   // ptrain in a commit's folder, where the case runs it
  Response response = Response::throughput;
  double confidence = 0.95;
  double threshold_percent = 1;  // points for a metric of at most 1
  std::int64_t most_runs = 500;
  std::filesystem::path folder;  // of the builds and records: a benchmark with a case per measured commit
  bool fresh = false;            // delete earlier results in the folder
  Fingerprint machine;
  Software software;
  std::function<bool()> stopped;                           // polled; true ends the search
  std::function<void(const std::string& line)> on_change;  // after every build and run
};

/// Continues the search in the folder, or starts one: a commit is checked out and built in a clone below the folder
/// when it is first measured, and skipped where its build or run fails. The report is also written to bisect.json
/// there. Throws Error{usage} where the folder has another search, Error{failed} when an end does not build or run,
/// Interrupted when `stopped` returns true.
BisectReport run_bisect(const BisectOptions& options);

}  // namespace ptrain

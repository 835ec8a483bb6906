// Runs a suite as a sweep: every repeat is a round over all cases in random order, each run a fresh process, each
// record on disk before the next run starts, so that an interrupted sweep resumes where it stopped.
#pragma once

#include "core/analysis/fingerprint.h"
#include "core/analysis/intervals.h"
#include "core/analysis/run_set.h"
#include "core/bench/bench_run.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ptrain {

enum class Kept { all, good_only, none };  // records of an earlier sweep to keep

struct SweepOptions {
  std::filesystem::path folder;  // of the results: suite.json and runs/
  Fingerprint machine;
  Software software;
  Kept kept = Kept::all;
  std::function<bool()> stopped;  // polled; true ends the sweep
};

/// State of a case so far, for the live table.
struct CaseProgress {
  std::vector<RunRecord> records;
  std::int64_t planned = 0;  // number of runs, as far as known
  bool running = false;
  bool given_up = false;  // failed twice the same way: not run again

  /// Figures of the good runs.
  std::vector<const RunFigures*> figures() const;
};

class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  /// `cases` in the suite's order; `kept` of their runs existed before.
  virtual void on_start(const std::vector<CaseProgress>& cases, std::int64_t kept) = 0;
  /// A run of case `index` starts, or has ended (its record is then the last).
  virtual void on_change(const std::vector<CaseProgress>& cases, std::size_t index) = 0;
};

/// The order of the cases in a round; equal for the same seed on every machine.
std::vector<std::size_t> round_order(std::int64_t seed, std::int64_t round, std::size_t cases);

/// Writes suite.json into `folder`. `sweep` identifies the runs interleaved with each other.
void write_suite(const Suite& suite, const BenchProgram& program, const Fingerprint& machine, const Software& software,
                 const std::string& sweep, const std::filesystem::path& folder);

/// Warnings about what a sweep of `suite` will have too few runs for, as far as known beforehand.
std::vector<std::string> shortages(const Suite& suite);

/// Removes the records below `folder`. Throws Error{usage} when its folder `runs` was not made by a benchmark.
void clear_runs(const std::filesystem::path& folder);

/// Runs what is missing. Records of the same settings, configuration, program, driver, libraries and seed are kept.
/// Returns false when `stopped` ended it. Throws Error{usage} with the difference where the folder has runs of another
/// machine, suite, program, driver, library, seed or configuration, which a new sweep would overwrite.
bool run_sweep(const Suite& suite, const BenchProgram& program, const SweepOptions& options, SweepObserver& observer);

}  // namespace ptrain

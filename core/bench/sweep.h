// A suite as a sweep: every repeat is a round over all cases in an order of its own, each run a fresh process, each
// record on disk before the next run starts, so that a sweep that was ended goes on where it stopped.
#pragma once

#include "core/analysis/fingerprint.h"
#include "core/analysis/intervals.h"
#include "core/analysis/run_set.h"
#include "core/bench/bench_run.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ptrain {

enum class Kept { all, good_only, none };  // which records of an earlier sweep stand

struct SweepOptions {
  std::filesystem::path folder;  // of the results: suite.json and runs/
  Fingerprint machine;
  Software software;
  Kept kept = Kept::all;
  std::function<bool()> stopped;  // asked often; true ends the sweep
};

/// What is known of a case so far; the live table shows it.
struct CaseProgress {
  std::vector<RunRecord> records;
  std::int64_t planned = 0;  // runs, so far as known
  bool running = false;
  bool given_up = false;  // failed twice the same way: not run again

  /// Of the good runs.
  std::vector<const RunFigures*> figures() const;
};

class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  /// `cases` in the order of the suite's; `kept` of their runs were there before.
  virtual void on_start(const std::vector<CaseProgress>& cases, std::int64_t kept) = 0;
  /// A run of case `index` starts or has ended (then its record is the last).
  virtual void on_change(const std::vector<CaseProgress>& cases, std::size_t index) = 0;
};

/// The cases' order in a round; the same for the same seed on every machine.
std::vector<std::size_t> round_order(std::int64_t seed, std::int64_t round, std::size_t cases);

/// Writes suite.json into `folder`. `sweep` names the runs that are interleaved with each other.
void write_suite(const Suite& suite, const BenchProgram& program, const Fingerprint& machine, const Software& software,
                 const std::string& sweep, const std::filesystem::path& folder);

/// Lines on what a sweep of `suite` will have too little of to say anything, as far as it is known before it runs.
std::vector<std::string> shortages(const Suite& suite);

/// Removes the records below `folder`. Throws Error{usage} when it has a folder `runs` that no benchmark made.
void clear_runs(const std::filesystem::path& folder);

/// Runs what is missing. Records of the same settings, configuration, program, driver, libraries and seed are kept.
/// Returns false when `stopped` ended it. Throws Error{usage} naming what differs where the folder has runs of another
/// machine, suite, program, driver, library, seed or configuration, which a new sweep would overwrite.
bool run_sweep(const Suite& suite, const BenchProgram& program, const SweepOptions& options, SweepObserver& observer);

}  // namespace ptrain

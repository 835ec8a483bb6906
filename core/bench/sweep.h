// A suite as a sweep: every repeat is a round over all cases in an order of its own, each run a fresh process, each
// record on disk before the next run starts, so that a sweep that was ended goes on where it stopped.
#pragma once

#include "core/analysis/fingerprint.h"
#include "core/analysis/intervals.h"
#include "core/bench/bench_run.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ptrain {

enum class Kept { all, good_only, none };  // which records of an earlier sweep stand

struct SweepOptions {
  std::filesystem::path folder;  // of the results: suite.json and runs/
  Fingerprint machine;
  Kept kept = Kept::all;
  std::function<bool()> stopped;  // asked often; true ends the sweep
};

/// What is known of a case so far; the live table shows it.
struct CaseProgress {
  std::vector<RunRecord> records;
  std::int64_t planned = 0;  // runs, so far as known
  bool running = false;
  bool given_up = false;  // failed twice the same way: not run again
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

/// The interval (95 %) of the centre of a case's typical step times, in parts of it: estimate in ms, lower and upper
/// relative to it.
Interval relative_interval(const std::vector<RunRecord>& records);

/// Writes suite.json into `folder`. `sweep` names the runs that are interleaved with each other.
void write_suite(const Suite& suite, const BenchProgram& program, const Fingerprint& machine, const std::string& sweep,
                 const std::filesystem::path& folder);

/// Removes the records below `folder`. Throws Error{usage} when it has a folder `runs` that no benchmark made.
void clear_runs(const std::filesystem::path& folder);

/// Runs what is missing. Records of the same settings, configuration, program and seed are kept. Returns false when
/// `stopped` ended it. Throws Error{usage} when the folder belongs to another machine or suite.
bool run_sweep(const Suite& suite, const BenchProgram& program, const SweepOptions& options, SweepObserver& observer);

}  // namespace ptrain

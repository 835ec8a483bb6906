// Measured runs from disk: single reports, folders of reports, or the folder of a benchmark.
#pragma once

#include "core/analysis/run_record.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

struct MeasuredRun {
  RunRecord record;                   // made from the report where no benchmark wrote one
  nlohmann::json report;              // null when the run left none
  std::filesystem::path report_file;  // as found below the path that was asked for
  std::filesystem::path record_file;  // empty when there is none
  std::vector<double> step_ms;        // every step, in order; empty when they were not kept
};

/// All runs of one case, by repeat.
struct MeasuredCase {
  std::string name;
  std::vector<MeasuredRun> runs;

  /// Runs that ended well and were measured.
  std::vector<const MeasuredRun*> good() const;
  /// The first good run whose report is there, else the first run with one; null when none has.
  const MeasuredRun* reported() const;
};

struct RunSet {
  std::filesystem::path path;
  nlohmann::json suite;  // suite.json (`ptrain.bench/1`); null when this is no benchmark
  std::vector<MeasuredCase> cases;

  const MeasuredCase* find(std::string_view name) const;
};

/// `path` is a report, a benchmark's folder (one with suite.json), any other folder (every report below it that is
/// not a benchmark's, a case each unless their configurations agree), or one of these followed by "#CASE" for one case
/// alone. Throws Error{failed} for what cannot be read or is cut short or no report, Error{inconclusive} for another
/// schema version, Error{usage} for a case that is not there.
RunSet load_runs(const std::string& path);

/// The JSON Schema of suite.json: what a benchmark was asked to do, and with which machine and program.
nlohmann::json suite_schema();

}  // namespace ptrain

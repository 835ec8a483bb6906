// Measured runs from disk: single reports, folders of reports, or the folder of a benchmark.
#pragma once

#include "core/analysis/fingerprint.h"
#include "core/analysis/run_record.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct MeasuredRun {
  RunRecord record;                   // made from the report where no benchmark wrote one
  std::optional<Report> report;       // absent when the run left none
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

struct SuiteAxis {
  std::string key;
  std::string label;
  nlohmann::json values = nlohmann::json::array();

  bool operator==(const SuiteAxis&) const = default;
  void describe(Fields& field) {
    field("key", key, "");
    field("label", label, "");
    field.any_list("values", values, nlohmann::json::object(), "");
  }
};

struct SuiteCase {
  std::string name;
  std::string folder;
  nlohmann::json settings = nlohmann::json::object();
  std::string config_hash;

  void describe(Fields& field) {
    field("name", name, "");
    field("folder", folder, "below runs/");
    field.any("settings", settings, "object", "keys that make the case, with their values");
    field("config_hash", config_hash, "");
  }
};

/// suite.json: what a benchmark was asked to do, and with which machine and program.
struct SuiteRecord {
  std::string suite;
  std::string about;
  std::string config;
  std::string sweep;
  Fingerprint machine;
  std::string binary;
  std::int64_t seed = 0;
  std::int64_t repeats = 0;
  std::vector<SuiteAxis> axes;
  std::vector<SuiteCase> cases;

  void describe(Fields& field) {
    field.document("ptrain.bench/1", "What a benchmark was asked to do.");
    field("suite", suite, "");
    field("about", about, "what it is for");
    field("config", config, "base configuration, as the suite names it");
    field("sweep", sweep, "equal for runs that were interleaved with each other");
    field("machine", machine, "the machine");
    field("binary", binary, "hash of the program");
    field("seed", seed, "of the order");
    field("repeats", repeats, "rounds asked for");
    field("axes", axes, "");
    field("cases", cases, "");
  }
};

struct RunSet {
  std::filesystem::path path;
  std::optional<SuiteRecord> suite;  // absent when this is no benchmark
  std::vector<MeasuredCase> cases;

  const MeasuredCase* find(std::string_view name) const;
};

/// `path` is a report, a benchmark's folder (one with suite.json), any other folder (every report below it that is
/// not a benchmark's, a case each unless their configurations agree), or one of these followed by "#CASE" for one case
/// alone. Throws Error{failed} for what cannot be read or is cut short or no report, Error{inconclusive} for another
/// schema version, Error{usage} for a case that is not there.
RunSet load_runs(const std::string& path);

}  // namespace ptrain

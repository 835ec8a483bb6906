// Measured runs from disk: single reports, folders of reports, or the folder of a benchmark.
#pragma once

#include "core/analysis/fingerprint.h"
#include "core/analysis/run_record.h"
#include "core/report/metrics_line.h"

#include <filesystem>
#include <map>
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

/// The lines of the metrics.jsonl that a run left beside its report.json; none where there is none.
std::vector<MetricsLine> read_metrics(const MeasuredRun& run);

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
  nlohmann::json work = nullptr;  // null in older ones

  void describe(Fields& field) {
    field("name", name, "");
    field("folder", folder, "below runs/");
    field.any("settings", settings, "object", "keys that make the case, with their values");
    field("config_hash", config_hash, "");
    field.maybe_any("work", work, "object", "keys that define its work, where they are not the defaults");
  }
};

/// Versions of the driver and of the libraries that compute, by name.
struct Software {
  std::map<std::string, std::string> versions;

  bool operator==(const Software&) const = default;
  void describe(Fields& field) { field("versions", versions, "of driver and libraries, by name"); }
};

/// "cuDNN was 9.1.0, is 9.2.0; oneDNN was ...": what differs, empty where nothing does.
std::string software_difference(const Software& before, const Software& now);

/// suite.json: what a benchmark was asked to do, and with which machine, program and libraries.
struct SuiteRecord {
  std::string suite;
  std::string about;
  std::string config;
  std::string sweep;
  Fingerprint machine;
  std::optional<Software> software;  // absent in older ones
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
    field.maybe("software", software, "driver and libraries; absent in older ones");
    field("binary", binary, "hash of the program");
    field("seed", seed, "of the order");
    field("repeats", repeats, "rounds asked for");
    field("axes", axes, "");
    field("cases", cases, "");
  }
};

/// A record in a benchmark's folder that is of another sweep than the one the folder's suite.json describes.
struct LeftOutRecord {
  std::filesystem::path folder;  // of the run
  std::string reason;            // "another configuration"
};

struct RunSet {
  std::filesystem::path path;
  std::optional<SuiteRecord> suite;  // absent when this is no benchmark
  std::vector<MeasuredCase> cases;
  std::vector<LeftOutRecord> left_out = {};

  const MeasuredCase* find(std::string_view name) const;
  /// A line for each reason, which names what was left out.
  std::vector<std::string> left_out_notes() const;
};

/// Why a record is not of the sweep that `suite` describes; empty when it is.
std::string reason_to_leave_out(const SuiteRecord& suite, const RunRecord& record);

/// When the first and the last of some runs started, UTC.
struct MeasuredSpan {
  std::string first, last;

  void add(const std::string& started);
  void add(const MeasuredSpan& other);
  /// "2025-01-31T12:00:00Z to 2025-01-31T12:04:10Z"
  std::string text() const;
  void describe(Fields& field) {
    field("first", first, "UTC");
    field("last", last, "UTC");
  }
};

/// `path` is a report, a benchmark's folder (one with suite.json), any other folder (every report below it that is
/// not a benchmark's, a case each unless their configurations agree), or one of these followed by "#CASE" for one case
/// alone. Throws Error{failed} for what cannot be read or is cut short or no report, Error{inconclusive} for another
/// schema version, Error{usage} for a case that is not there.
RunSet load_runs(const std::string& path);

}  // namespace ptrain

// Loads measured runs from disk: single reports, folders of reports, or the folder of a benchmark.
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
  RunRecord record;                   // made from the report if no benchmark wrote one
  std::optional<Report> report;       // absent if the run left none
  std::filesystem::path report_file;  // path as found below the requested one
  std::filesystem::path record_file;  // empty without one
  std::vector<double> step_ms;        // every step, in order; empty if not kept
};

/// Lines of the metrics.jsonl in the folder of a run's report.json; empty without one.
std::vector<MetricsLine> read_metrics(const MeasuredRun& run);

/// The value of a primary metric that others published.
struct PublishedValue {
  double value = 0;
  std::int64_t seeds = 1;  // of which it is the mean

  void describe(Fields& field) {
    field.any_sign("value", value, "of the primary metric");
    field("seeds", seeds, "training seeds of which it is the mean");
  }
};

/// All runs of one case, by repeat.
struct MeasuredCase {
  std::string name;
  std::vector<MeasuredRun> runs;
  std::optional<PublishedValue> published = {};

  /// Runs that ended well and were measured.
  std::vector<const MeasuredRun*> good() const;
  /// Those, and runs whose step times did not settle: only their speed is in doubt.
  std::vector<const MeasuredRun*> ended() const;
  /// The first good run with a report, else the first run with one; null: none.
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
  std::optional<PublishedValue> published = {};

  void describe(Fields& field) {
    field("name", name, "");
    field("folder", folder, "folder below runs/");
    field.any("settings", settings, "object", "keys that define the case, with their values");
    field("config_hash", config_hash, "");
    field.maybe_any("work", work, "object", "keys that define its work and differ from the defaults");
    field.maybe("published", published, "what others reached; absent: not given");
  }
};

/// Versions of the driver and of the compute libraries, by name.
struct Software {
  std::map<std::string, std::string> versions;

  bool operator==(const Software&) const = default;
  void describe(Fields& field) { field("versions", versions, "versions of driver and libraries, by name"); }
};

/// "cuDNN was 9.1.0, is 9.2.0; oneDNN was ..."; empty: no difference.
std::string software_difference(const Software& before, const Software& now);

/// suite.json: what a benchmark was to run, with its machine, program and libraries.
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
    field.document("ptrain.bench/1", "What a benchmark was to run.");
    field("suite", suite, "");
    field("about", about, "purpose of the suite");
    field("config", config, "base configuration, as the suite names it");
    field("sweep", sweep, "equal for runs that were interleaved with each other");
    field("machine", machine, "the machine");
    field.maybe("software", software, "driver and libraries; absent in older ones");
    field("binary", binary, "hash of the program");
    field("seed", seed, "seed of the order");
    field("repeats", repeats, "requested rounds");
    field("axes", axes, "");
    field("cases", cases, "");
  }
};

/// A record in a benchmark's folder that does not belong to the sweep of its suite.json.
struct LeftOutRecord {
  std::filesystem::path folder;  // of the run
  std::string reason;            // "another configuration"
};

struct RunSet {
  std::filesystem::path path;
  std::optional<SuiteRecord> suite;  // absent if this is no benchmark
  std::vector<MeasuredCase> cases;
  std::vector<LeftOutRecord> left_out = {};

  const MeasuredCase* find(std::string_view name) const;
  /// A line for each reason, with the names of the records left out.
  std::vector<std::string> left_out_notes() const;
};

/// Why a record does not belong to the sweep of `suite`; empty: it does.
std::string reason_to_leave_out(const SuiteRecord& suite, const RunRecord& record);

/// When the first and the last of a set of runs started, UTC.
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

/// `path` is a report, a benchmark's folder (one with suite.json), any other folder (every report below it that is not
/// a benchmark's; equal configurations form one case), or one of these followed by "#CASE" for one case alone. Throws
/// Error{failed} for what is unreadable, truncated or no report, Error{inconclusive} for another schema version,
/// Error{usage} for an unknown case.
RunSet load_runs(const std::string& path);

}  // namespace ptrain

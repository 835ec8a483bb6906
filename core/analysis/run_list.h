// Lists the runs below a folder, each by its report.
#pragma once

#include "core/analysis/live/run_progress.h"
#include "core/report/report.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// How a run ended, as RunStatus; or that it is in progress (running), or ended without a report (killed).
enum class ListedStatus { ok, diverged, oom, interrupted, error, running, killed };
std::string_view to_string(ListedStatus status);

struct RunOverview {
  std::string folder;
  ListedStatus status = ListedStatus::error;
  std::string message;
  std::string model, data, precision;
  std::int64_t steps = 0, planned_steps = 0;
  std::optional<double> seconds_left;  // of a run that trains
  std::optional<double> loss;
  std::optional<MetricValue> quality;  // the primary metric of the last evaluation
  std::optional<double> speed;
  std::string unit;
  std::string started;

  void describe(Fields& field) {
    field("folder", folder, "folder that contains report.json");
    field.choice("status", status, ListedStatus::killed,
                 "how it ended; running: it writes there now; killed: it left no report");
    field("message", message, "reason, unless ok");
    field("model", model, "empty where it is not known, as the next two");
    field("data", data, "the data set's folder, or synthetic");
    field("precision", precision, "AMP level and type");
    field("steps", steps, "done");
    field("planned_steps", planned_steps, "0: not known");
    field("seconds_left", seconds_left,
          "until the last step, at the speed of the last logged steps; null: it has ended");
    field.any_sign("loss", loss, "training loss of the last step; null: none, or not finite");
    std::string metric = quality ? quality->name : std::string();
    std::optional<double> value = quality ? quality->value : std::nullopt;
    field("metric", metric, "primary metric; empty: nothing was evaluated");
    field.any_sign("value", value, "value of the metric in the last evaluation; null: none");
    field("speed", speed, "samples over time, of a run that trains over its last logged steps; null: not measured");
    field("unit", unit, "unit of the speed");
    field("started", started, "UTC");
  }
};

struct RunList {
  std::vector<RunOverview> runs;  // latest first
  std::vector<std::string> notes;

  void describe(Fields& field) {
    field.document("ptrain.runs/3", "The runs below a folder.");
    field("runs", runs, "latest first");
    field("notes", notes, "sweeps, and reports that cannot be read");
  }
};

/// "synthetic", or the last component of the data's path.
std::string data_name(const Report& report);

/// The overview of a run that has a report.
RunOverview read_overview(const std::filesystem::path& folder);

/// The run that writes, or has written, its metrics into `folder` and left no report; null: none.
std::optional<RunOverview> find_unreported_run(const std::filesystem::path& folder);
/// The overview of such a run, which `is_running` or was killed, that has come so far.
RunOverview describe_unreported(const std::filesystem::path& folder, const RunProgress& progress, bool is_running);

/// Whether a folder has a report or metrics, or a run writes there.
bool holds_run(const std::filesystem::path& folder);

/// A folder that holds a run, or a sweep with its runs below it.
struct FoundFolder {
  std::filesystem::path path;
  bool is_sweep = false;
};
/// Those in `root`, which may be one itself, and below; runs of sweeps are left out, and symbolic links not followed.
std::vector<FoundFolder> find_run_folders(const std::filesystem::path& root);

/// Lists every run in `root` and below. Sweep folders (shown by ptrain table) and unreadable reports become
/// notes. Throws Error{failed} when there is no such folder.
RunList list_runs(const std::filesystem::path& root);

/// "120 of 938, 1:02 left"
std::string steps_text(const RunOverview& run);

/// A line for each run, aligned, then the notes.
std::string run_list_text(const RunList& list);

}  // namespace ptrain

// The runs below a folder, each by what its report says.
#pragma once

#include "core/report/report.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct RunOverview {
  std::string folder;
  RunStatus status = RunStatus::error;
  std::string message;
  std::string model, data, precision;
  std::int64_t steps = 0, planned_steps = 0;
  std::optional<MetricValue> quality;  // the primary metric of the last evaluation
  std::optional<double> speed;
  std::string unit;
  std::string started;

  void describe(Fields& field) {
    field("folder", folder, "that report.json lies in");
    field.choice("status", status, RunStatus::error, "how it ended");
    field("message", message, "why, unless ok");
    field("model", model, "");
    field("data", data, "the data set's folder, or synthetic");
    field("precision", precision, "AMP level and type");
    field("steps", steps, "done");
    field("planned_steps", planned_steps, "");
    std::string metric = quality ? quality->name : std::string();
    std::optional<double> value = quality ? quality->value : std::nullopt;
    field("metric", metric, "the primary one; empty: nothing was evaluated");
    field.any_sign("value", value, "of the metric, in the last evaluation; null: none");
    field("speed", speed, "samples over time; null: not measured");
    field("unit", unit, "of the speed");
    field("started", started, "UTC");
  }
};

struct RunList {
  std::vector<RunOverview> runs;  // the latest first
  std::vector<std::string> notes;

  void describe(Fields& field) {
    field.document("ptrain.runs/2", "The runs below a folder.");
    field("runs", runs, "the latest first");
    field("notes", notes, "sweeps, and reports that cannot be read");
  }
};

/// "synthetic", or the last part of the path that the data lies in.
std::string data_name(const Report& report);

/// Of every report.json in `root` and below. A sweep's folder is a note, as ptrain table shows its runs, and so is a
/// report that cannot be read. Throws Error{failed} when there is no such folder.
RunList list_runs(const std::filesystem::path& root);

/// A line for each run, aligned, then the notes.
std::string run_list_text(const RunList& list);

}  // namespace ptrain

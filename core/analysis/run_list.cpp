#include "core/analysis/run_list.h"

#include "core/analysis/quality.h"
#include "core/analysis/run_set.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/text_columns.h"
#include "core/config/text.h"
#include "core/data/source_registry.h"
#include "core/io/folder_lock.h"
#include "core/io/run_files.h"
#include "core/report/environment.h"
#include "core/report/json_file.h"
#include "core/report/metrics_line.h"
#include "core/report/progress.h"
#include "core/report/run_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr int deepest = 6;  // levels of folders searched below the root

bool is_file(const fs::path& file) {
  std::error_code error;  // what must not be read is none
  return fs::is_regular_file(file, error);
}

bool is_sweep(const fs::path& folder) { return is_file(folder / "suite.json"); }

void collect(const fs::path& folder, int depth, std::vector<FoundFolder>& found) {
  if (is_sweep(folder)) return found.push_back({folder, true});
  if (holds_run(folder)) found.push_back({folder});
  if (depth == deepest) return;
  std::vector<fs::path> below;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) below.push_back(entry.path());
  }
  std::sort(below.begin(), below.end());
  for (const fs::path& one : below) collect(one, depth + 1, found);
}

/// The report of a run that trains is that of an earlier one, which it continues.
void add_run(const fs::path& folder, RunList& list) {
  try {
    if (fs::exists(folder / run_files::report) && !FolderLock::is_held(folder)) {
      list.runs.push_back(read_overview(folder));
    } else if (const std::optional<RunOverview> run = find_unreported_run(folder)) {
      list.runs.push_back(*run);
    }
  } catch (const Error& error) {
    list.notes.emplace_back(error.what());
  }
}

/// What the run said of itself before its first step; null: it has not come so far, or is of an older program.
std::optional<RunStart> read_start(const fs::path& folder) {
  const fs::path file = folder / run_files::start;
  return is_file(file) ? std::optional(read_document<RunStart>(file)) : std::nullopt;
}

std::vector<std::string> format_cells(const RunOverview& run, const std::string& column) {
  return {on_one_line(run.folder),
          std::string(to_string(run.status)),
          run.model.empty()  ? "-"
          : run.data.empty() ? run.model
                             : fmt::format("{}, {}", run.model, run.data),
          run.precision.empty() ? "-" : run.precision,
          steps_text(run),
          run.quality ? quality_text(*run.quality, *run.quality->value, column) : "-",
          run.speed ? fmt::format("{:.1f} {}", *run.speed, run.unit) : "-"};
}

}  // namespace

std::string_view to_string(ListedStatus status) {
  if (status == ListedStatus::running) return "running";
  if (status == ListedStatus::killed) return "killed";
  return to_string(static_cast<RunStatus>(status));
}

RunOverview read_overview(const fs::path& folder) {
  const Report report = read_report(folder / run_files::report);
  RunOverview run;
  run.folder = folder.string();
  run.status = static_cast<ListedStatus>(report.status);  // the first of its values are RunStatus's
  run.message = report.message;
  run.model = report.model.name;
  run.data = data_name(report);
  run.precision = precision_text(report.amp);
  run.steps = report.progress.steps;
  run.planned_steps = report.progress.planned_steps;
  run.loss = report.loss.last;
  if (report.evaluation && report.evaluation->primary_value()) run.quality = *report.evaluation->primary();
  if (report.throughput) run.speed = report.throughput->value, run.unit = report.throughput->unit;
  run.started = report.environment.time;
  return run;
}

std::optional<RunOverview> find_unreported_run(const fs::path& folder) {
  const fs::path metrics = folder / run_files::metrics;
  const bool is_running = FolderLock::is_held(folder);
  if (!is_running && !fs::exists(metrics)) return std::nullopt;
  RunProgress progress;
  for (const MetricsLine& line : read_metrics(metrics)) progress.add(line);
  return describe_unreported(folder, progress, is_running);
}

RunOverview describe_unreported(const fs::path& folder, const RunProgress& progress, bool is_running) {
  RunOverview run;
  run.folder = folder.string();
  run.status = is_running ? ListedStatus::running : ListedStatus::killed;
  run.steps = progress.step();
  run.message = fmt::format("{} step {}", is_running ? "training, after" : "it was killed after", run.steps);
  if (progress.started()) run.started = utc_text(*progress.started());
  if (const auto loss = progress.last_loss(); loss && std::isfinite(*loss)) run.loss = loss;
  if (const auto value = progress.last_primary()) {
    run.quality.emplace();
    run.quality->name = progress.primary();
    run.quality->title = progress.primary_title();
    run.quality->value = value;
  }
  run.speed = progress.recent_speed();
  run.unit = "samples/s";
  const std::optional<RunStart> start = read_start(folder);
  if (!start) return run;
  Report known;
  known.config = start->config;
  run.started = start->started;
  run.model = start->model.name;
  run.data = data_name(known);
  run.precision = precision_text(start->amp);
  run.planned_steps = start->planned_steps;
  run.unit = start->model.sample + "s/s";
  const std::optional<double> step_seconds = progress.recent_step_seconds();
  if (is_running && step_seconds) {
    run.seconds_left = static_cast<double>(run.planned_steps - run.steps) * *step_seconds;
  }
  return run;
}

bool holds_run(const fs::path& folder) {
  return is_file(folder / run_files::report) || is_file(folder / run_files::metrics) || FolderLock::is_held(folder);
}

std::vector<FoundFolder> find_run_folders(const fs::path& root) {
  std::vector<FoundFolder> found;
  collect(root.lexically_normal(), 0, found);
  return found;
}

std::string data_name(const Report& report) {
  const DataConfig data = restore_config(report).data;
  const auto& rows = data_source_rows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.entry.name == data.source; });
  const bool has_path =
      row == rows.end() || row->entry.reads_key("data.path");  // else a source this program does not know
  return has_path ? fs::path(data.path).filename().string() : data.source;
}

RunList list_runs(const fs::path& root) {
  if (!fs::is_directory(root)) fail("{}: no such folder; expected one with runs", root.string());
  RunList list;
  for (const FoundFolder& found : find_run_folders(root)) {
    if (!found.is_sweep) {
      add_run(found.path, list);
    } else {
      list.notes.push_back(fmt::format("{0}: a sweep; ptrain table {0} shows it", found.path.string()));
    }
  }
  std::stable_sort(list.runs.begin(), list.runs.end(),
                   [](const RunOverview& a, const RunOverview& b) { return a.started > b.started; });
  return list;
}

std::string steps_text(const RunOverview& run) {
  std::string text = run.steps == run.planned_steps || run.planned_steps == 0
                         ? std::to_string(run.steps)
                         : fmt::format("{} of {}", run.steps, run.planned_steps);
  return run.seconds_left ? fmt::format("{}, {} left", text, clock_text(*run.seconds_left)) : text;
}

std::string run_list_text(const RunList& list) {
  std::vector<MetricInfo> metrics;
  for (const RunOverview& run : list.runs) {
    if (run.quality) metrics.push_back(*run.quality);
  }
  const std::string column = quality_title(metrics);
  std::vector<std::vector<std::string>> rows{
      {"run", "status", "work", "precision", "steps", in_a_sentence(column), "speed"}};
  for (const RunOverview& run : list.runs) rows.push_back(format_cells(run, column));
  std::string text = list.runs.empty() ? "no runs\n" : align_columns(rows);
  for (const std::string& note : list.notes) text += note + "\n";
  return text;
}

}  // namespace ptrain

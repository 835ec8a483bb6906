#include "core/analysis/run_list.h"

#include "core/analysis/quality.h"
#include "core/analysis/run_set.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/config/text.h"
#include "core/data/source_registry.h"
#include "core/io/folder_lock.h"
#include "core/io/run_files.h"
#include "core/report/environment.h"
#include "core/report/metrics_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr int deepest = 6;  // levels of folders searched below the root

RunOverview read_overview(const fs::path& folder) {
  const Report report = read_report(folder / run_files::report);
  RunOverview run;
  run.folder = folder.string();
  run.status = static_cast<ListedStatus>(report.status);  // the first of its values are RunStatus's
  if (FolderLock::is_held(folder)) run.status = ListedStatus::running;
  run.message = report.message;
  run.model = report.model.name;
  run.data = data_name(report);
  run.precision = precision_text(report.amp);
  run.steps = report.progress.steps;
  run.planned_steps = report.progress.planned_steps;
  if (report.evaluation && report.evaluation->primary_value()) run.quality = *report.evaluation->primary();
  if (report.throughput) run.speed = report.throughput->value, run.unit = report.throughput->unit;
  run.started = report.environment.time;
  return run;
}

void collect(const fs::path& folder, int depth, RunList& list) {
  if (fs::exists(folder / "suite.json")) {
    list.notes.push_back(fmt::format("{}: a sweep; ptrain table {} shows it", folder.string(), folder.string()));
    return;
  }
  try {
    if (fs::exists(folder / run_files::report)) {
      list.runs.push_back(read_overview(folder));
    } else if (const std::optional<RunOverview> run = find_unreported_run(folder)) {
      list.runs.push_back(*run);
    }
  } catch (const Error& error) {
    list.notes.emplace_back(error.what());
  }
  if (depth == deepest) return;
  std::vector<fs::path> below;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) below.push_back(entry.path());
  }
  std::sort(below.begin(), below.end());
  for (const fs::path& one : below) collect(one, depth + 1, list);
}

using Cells = std::array<std::string, 7>;

Cells format_cells(const RunOverview& run, const std::string& column) {
  return {on_one_line(run.folder),
          std::string(to_string(run.status)),
          run.model.empty()  ? "-"
          : run.data.empty() ? run.model
                             : fmt::format("{}, {}", run.model, run.data),
          run.precision.empty() ? "-" : run.precision,
          run.steps == run.planned_steps || run.planned_steps == 0
              ? fmt::format("{}", run.steps)
              : fmt::format("{} of {}", run.steps, run.planned_steps),
          run.quality ? quality_text(*run.quality, *run.quality->value, column) : "-",
          run.speed ? fmt::format("{:.1f} {}", *run.speed, run.unit) : "-"};
}

}  // namespace

std::string_view to_string(ListedStatus status) {
  if (status == ListedStatus::running) return "running";
  if (status == ListedStatus::killed) return "killed";
  return to_string(static_cast<RunStatus>(status));
}

std::optional<RunOverview> find_unreported_run(const fs::path& folder) {
  const fs::path metrics = folder / run_files::metrics;
  const bool running = FolderLock::is_held(folder);
  if (!running && !fs::exists(metrics)) return std::nullopt;
  RunOverview run;
  run.folder = folder.string();
  run.status = running ? ListedStatus::running : ListedStatus::killed;
  for (const MetricsLine& line : read_metrics(metrics)) {
    if (const auto* step = std::get_if<StepLine>(&line)) {
      run.steps = step->step;
      if (run.started.empty() && step->time) run.started = utc_text(*step->time);
    }
  }
  run.message = fmt::format("{} step {}", running ? "training, after" : "it was killed after", run.steps);
  return run;
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
  collect(root.lexically_normal(), 0, list);
  std::stable_sort(list.runs.begin(), list.runs.end(),
                   [](const RunOverview& a, const RunOverview& b) { return a.started > b.started; });
  return list;
}

std::string run_list_text(const RunList& list) {
  std::vector<MetricInfo> metrics;
  for (const RunOverview& run : list.runs) {
    if (run.quality) metrics.push_back(*run.quality);
  }
  const std::string column = quality_title(metrics);
  std::vector<Cells> rows{{"run", "status", "work", "precision", "steps", in_a_sentence(column), "speed"}};
  for (const RunOverview& run : list.runs) rows.push_back(format_cells(run, column));
  std::array<std::size_t, std::tuple_size_v<Cells>> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : list.runs.empty() ? std::vector<Cells>{} : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (list.runs.empty()) text += "no runs\n";
  for (const std::string& note : list.notes) text += note + "\n";
  return text;
}

}  // namespace ptrain

#include "core/analysis/html/run_overview.h"

#include "core/analysis/html/elements.h"
#include "core/analysis/html/run_figures.h"
#include "core/analysis/html/run_page.h"
#include "core/analysis/html/svg.h"
#include "core/analysis/quality.h"
#include "core/base/counted.h"
#include "core/io/run_files.h"
#include "core/report/json_file.h"
#include "core/report/run_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace ptrain::html {
namespace {

std::string format_status(const RunOverview& run) {
  const std::string status(to_string(run.status));
  const bool explained = run.status == ListedStatus::ok || run.status == ListedStatus::running ||
                         run.status == ListedStatus::killed || run.message.empty();
  return explained ? status : fmt::format("{}: {}", status, run.message);
}

/// "2025-01-31 12:00" of "2025-01-31T12:00:00Z"
std::string format_start(const RunOverview& run) {
  return run.started.size() < 16 ? run.started : run.started.substr(0, 10) + " " + run.started.substr(11, 5);
}

std::string format_loss(const RunOverview& run) { return run.loss ? fmt::format("{:.4f}", *run.loss) : "-"; }

std::string format_speed(const RunOverview& run) {
  return run.speed ? fmt::format("{:.4g} {}", *run.speed, run.unit) : "-";
}

std::string find_quality_column(const std::vector<RunOverview>& runs) {
  std::vector<MetricInfo> metrics;
  for (const RunOverview& run : runs) {
    if (run.quality) metrics.push_back(*run.quality);
  }
  return quality_title(metrics);
}

/// The settings that the run wrote before its first step.
std::string start_section(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder / run_files::start, error)) return "";
  Report known;
  known.status = RunStatus::ok;
  known.config = read_document<RunStart>(folder / run_files::start).config;
  return configuration_section(known);
}

}  // namespace

std::string sum_up_runs(const std::vector<RunOverview>& runs) {
  std::int64_t running = 0, good = 0, killed = 0, failed = 0;
  for (const RunOverview& run : runs) {
    ++(run.status == ListedStatus::running  ? running
       : run.status == ListedStatus::ok     ? good
       : run.status == ListedStatus::killed ? killed
                                            : failed);
  }
  std::vector<std::string> parts;
  if (running > 0) parts.push_back(fmt::format("{} in training", running));
  if (good > 0) parts.push_back(fmt::format("{} finished", good));
  if (killed > 0) parts.push_back(fmt::format("{} killed", killed));
  if (failed > 0) parts.push_back(fmt::format("{} failed", failed));
  return fmt::format("{}{}{}.", counted(runs.size(), "run"), parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

std::string runs_section(std::vector<RunOverview> runs) {
  std::ranges::stable_sort(runs, std::greater{}, [](const RunOverview& run) {
    return std::pair(run.status == ListedStatus::running, run.started);
  });
  const std::string quality = find_quality_column(runs);
  HtmlTable table{"",
                  {{"Run"},
                   {"Status"},
                   {"Work"},
                   {"Precision"},
                   {"Steps", true},
                   {"Loss", true},
                   {quality, true},
                   {"Speed", true},
                   {"Started, UTC"}},
                  {}};
  for (const RunOverview& run : runs) {
    const std::string path = run.folder.empty() ? "" : run.folder + "/";
    table.rows.push_back({{run.folder, file_link(path + "index.html")},
                          {format_status(run)},
                          {run.data.empty() ? run.model : fmt::format("{}, {}", run.model, run.data)},
                          {run.precision},
                          {steps_text(run)},
                          {format_loss(run)},
                          {run.quality ? quality_text(*run.quality, *run.quality->value, quality) : "-"},
                          {format_speed(run)},
                          {format_start(run)}});
  }
  return table_section(table);
}

std::string progress_content(const RunOverview& run, const RunProgress& progress) {
  std::vector<LargeFigure> figures{{std::string(to_string(run.status)), "after step " + steps_text(run)}};
  if (run.loss) figures.push_back({format_loss(run), "loss of the last logged step"});
  if (run.quality)
    figures.push_back({run.quality->value_text(run.quality->value), run.quality->title + ", last evaluation"});
  if (run.speed) figures.push_back({fmt::format("{:.4g}", *run.speed), run.unit + ", last logged steps"});
  std::string charts;
  for (const Figure& figure : progress_figures(progress, run.unit)) charts += figure_section(figure);
  const std::string work = run.model.empty() ? "" : fmt::format("{} on {}, {}", run.model, run.data, run.precision);
  return paragraph(work) + large_figures(figures) + fmt::format("<div class=\"charts\">\n{}</div>\n", charts) +
         start_section(run.folder);
}

}  // namespace ptrain::html

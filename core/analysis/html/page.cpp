#include "core/analysis/html/page.h"

#include "core/analysis/html/elements.h"
#include "core/analysis/html/run_figures.h"
#include "core/analysis/html/run_page.h"
#include "core/analysis/html/svg.h"
#include "core/analysis/html/sweep_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t few_rows = 8;  // a table of at most this many precedes the figures

std::string format_table(const Table& table, const fs::path& from) {
  const TableDocument content = table_document(table, from);
  html::HtmlTable shown;
  for (const TableColumn& column : table.columns) shown.columns.push_back({column.title, column.numeric});
  for (const RowDocument& row : content.rows) {
    std::vector<html::HtmlCell>& cells = shown.rows.emplace_back();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const CellDocument& cell = row.cells[i];
      std::string files;
      for (const SourceDocument& s : cell.sources) files += fmt::format("{}#{}\n", s.file, s.pointer);
      cells.push_back({cell.text, table.columns[i].id == "run" ? row.link : "", files});
    }
  }
  return html::table_section(shown);
}

/// Why a run is not counted; empty: it is.
std::string find_reason(const MeasuredRun& run) {
  if (run.record.outcome == RunOutcome::ok) return run.record.figures ? "" : "nothing was measured";
  const std::string why = run.record.message.empty() ? "no reason was recorded" : run.record.message;
  return run.record.outcome == RunOutcome::unstable ? why + " (its speed alone is not counted)" : why;
}

/// Every run that no figure counts, with the reason.
std::string format_uncounted(std::span<const RunSet> sets) {
  html::HtmlTable table{"Runs that are not counted", {{"Case"}, {"Round"}, {"Status"}, {"Why"}}, {}};
  std::string notes;
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      if (item.runs.empty()) table.rows.push_back({{item.name}, {"-"}, {"not run"}, {"no record of it"}});
      for (const MeasuredRun& run : item.runs) {
        const std::string why = find_reason(run);
        if (why.empty()) continue;
        table.rows.push_back(
            {{item.name}, {std::to_string(run.record.repeat)}, {std::string(to_string(run.record.outcome))}, {why}});
      }
    }
    for (const std::string& note : set.left_out_notes()) notes += html::paragraph(note, " class=\"note\"");
  }
  return html::table_section(table) + notes;
}

/// The suite, the machine and the program.
std::string format_heading(std::span<const RunSet> sets) {
  std::vector<std::string> titles;
  std::string about, machine;
  if (html::single_run(sets) != nullptr) titles.push_back(sets[0].cases[0].name);
  for (const RunSet& set : sets) {
    if (set.suite) titles.push_back(set.suite->suite);
    if (set.suite) about += html::paragraph(set.suite->about);
    for (const MeasuredCase& item : set.cases) {
      if (!machine.empty() || item.reported() == nullptr) continue;
      const EnvironmentReport& e = item.reported()->report->environment;
      machine = fmt::format("{}, threads: {}, {}; ptrain {} {}; {}", e.cpu.model, e.threads, e.os, e.ptrain.version,
                            e.ptrain.commit, e.time);
    }
  }
  if (titles.empty()) titles.emplace_back("ptrain");
  return fmt::format("<h1>{}</h1>\n{}{}", html::escaped(fmt::format("{}", fmt::join(titles, ", "))), about,
                     html::paragraph(machine));
}

}  // namespace

std::vector<html::Figure> make_figures(std::span<const RunSet> sets) {
  const MeasuredRun* run = html::single_run(sets);
  return run == nullptr ? html::sweep_figures(sets) : html::run_figures(*run);
}

std::string html_page(std::span<const RunSet> sets, const Table& table, const fs::path& from) {
  std::string figures;
  for (const html::Figure& figure : make_figures(sets)) figures += html::figure_section(figure);
  figures = fmt::format("<div class=\"charts\">\n{}</div>\n", figures);
  std::string rest = format_uncounted(sets);
  if (const MeasuredRun* run = html::single_run(sets)) {
    rest += html::classification_section(*run->report) + html::mistakes_section(*run) + html::op_section(*run->report) +
            html::configuration_section(*run->report);
  }
  const MeasuredRun* const single = html::single_run(sets);
  const std::string head = format_heading(sets) + (single == nullptr ? "" : html::headline(*single->report));
  const std::string rows = format_table(table, from);
  const bool table_first = table.rows.size() <= few_rows;
  return html::page_document(single == nullptr ? "ptrain benchmark" : "ptrain: " + sets[0].cases[0].name,
                             head + (table_first ? rows : "") + figures + rest + (table_first ? "" : rows));
}

}  // namespace ptrain

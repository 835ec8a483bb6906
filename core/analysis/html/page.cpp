#include "core/analysis/html/page.h"

#include "core/analysis/html/elements.h"
#include "core/analysis/html/run_figures.h"
#include "core/analysis/html/run_page.h"
#include "core/analysis/html/summary.h"
#include "core/analysis/html/svg.h"
#include "core/analysis/html/sweep_figures.h"

#include "core/analysis/quality.h"
#include "core/io/atomic_file.h"
#include "core/io/free_output.h"
#include "core/io/run_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* page_file = "index.html";  // of a run, beside its report
constexpr std::size_t few_rows = 8;              // a table of at most this many precedes the figures

/// The page of a run; none for a report elsewhere than in the folder of its run.
std::optional<fs::path> find_page_file(const MeasuredRun& run) {
  if (run.report_file.filename() != run_files::report) return std::nullopt;
  return run.report_file.parent_path() / page_file;
}

/// The link to a run's page, where it has one and pages lead there; else empty.
std::string link_to_page(const MeasuredRun* run, const PageLinks& links) {
  const std::optional<fs::path> file =
      run == nullptr || links.runs == RunLinks::reports ? std::nullopt : find_page_file(*run);
  return file ? html::file_link(make_relative(*file, links.from)) : std::string{};
}

std::string format_table(std::span<const RunSet> sets, const Table& table, const PageLinks& links) {
  const TableDocument content = table_document(table, links.from);
  std::vector<std::string> pages;  // by row
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) pages.push_back(link_to_page(item.reported(), links));
  }
  html::HtmlTable shown;
  for (const TableColumn& column : table.columns) shown.columns.push_back({column.title, column.numeric});
  for (std::size_t r = 0; r < content.rows.size(); ++r) {
    const RowDocument& row = content.rows[r];
    const std::string link = pages[r].empty() ? html::file_link(row.link) : pages[r];
    std::vector<html::HtmlCell>& cells = shown.rows.emplace_back();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const CellDocument& cell = row.cells[i];
      std::string files;
      for (const SourceDocument& s : cell.sources) files += fmt::format("{}#{}\n", s.file, s.pointer);
      cells.push_back({cell.text, table.columns[i].id == "run" ? link : "", files});
    }
  }
  return html::table_section(shown);
}

/// Every run of cases that have several, with its page.
std::string format_runs(std::span<const RunSet> sets, const PageLinks& links) {
  if (links.runs == RunLinks::reports) return "";
  html::HtmlTable table{"", {{"Run"}, {"Status"}, {"Speed", true}, {"Accuracy", true}}, {}};
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      if (item.runs.size() < 2) continue;
      for (const MeasuredRun& run : item.runs) {
        const std::optional<RunFigures>& figures = run.record.figures;
        const MetricValue* metric = find_primary_metric(run);
        table.rows.push_back({{name_run(item, run), link_to_page(&run, links)},
                              {std::string(to_string(run.record.outcome))},
                              {figures ? fmt::format("{:.4g} {}", figures->throughput, figures->unit) : "-"},
                              {metric == nullptr ? "-" : metric->text()}});
      }
    }
  }
  return html::folded("All runs", html::table_section(table));
}

/// Why a run is not counted; empty: it is.
std::string find_reason(const MeasuredRun& run) {
  if (run.record.outcome == RunOutcome::ok) return run.record.figures ? "" : "nothing was measured";
  const std::string why = run.record.message.empty() ? "no reason was recorded" : run.record.message;
  return run.record.outcome == RunOutcome::unstable ? why + " (its speed alone is not counted)" : why;
}

/// Every run that no figure counts, with the reason.
std::string format_uncounted(std::span<const RunSet> sets, const PageLinks& links) {
  html::HtmlTable table{"Runs that are not counted", {{"Case"}, {"Round"}, {"Status"}, {"Why"}}, {}};
  std::string notes;
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      if (item.runs.empty()) table.rows.push_back({{item.name}, {"-"}, {"not run"}, {"no record of it"}});
      for (const MeasuredRun& run : item.runs) {
        const std::string why = find_reason(run);
        if (why.empty()) continue;
        table.rows.push_back({{item.name, link_to_page(run.report ? &run : nullptr, links)},
                              {std::to_string(run.record.repeat + 1)},
                              {std::string(to_string(run.record.outcome))},
                              {why}});
      }
    }
    for (const std::string& note : set.left_out_notes()) notes += html::paragraph(note, " class=\"note\"");
  }
  return html::table_section(table) + notes;
}

/// Sections of figures side by side; empty for none.
std::string arrange_charts(const std::string& sections) {
  return sections.empty() ? "" : fmt::format("<div class=\"charts\">\n{}</div>\n", sections);
}

/// The suite, what came of it, the machine and the program.
std::string format_heading(std::span<const RunSet> sets, const std::string& sum) {
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
  return fmt::format("<h1>{}</h1>\n{}{}{}", html::escaped(fmt::format("{}", fmt::join(titles, ", "))),
                     html::paragraph(sum, " class=\"sum\""), about, html::paragraph(machine));
}

}  // namespace

std::vector<html::Figure> make_figures(std::span<const RunSet> sets) {
  const MeasuredRun* run = html::single_run(sets);
  return run == nullptr ? html::sweep_figures(sets) : html::run_figures(*run);
}

std::string PageContent::document(const std::string& script) const {
  return html::page_document(title, content, script);
}

PageContent make_page(std::span<const RunSet> sets, const Table& table, const PageLinks& links) {
  const MeasuredRun* const single = html::single_run(sets);
  std::string figures, tall;
  for (const html::Figure& figure : make_figures(sets)) {
    (html::is_tall(figure) ? tall : figures) += html::figure_section(figure);
  }
  std::string rest = format_uncounted(sets, links) + format_runs(sets, links);
  if (single != nullptr) {
    rest += html::classification_section(*single->report) + html::mistakes_section(*single) +
            html::op_section(*single->report) + html::folded("The network", arrange_charts(tall)) +
            html::configuration_section(*single->report);
  }
  const std::string back = links.back.empty() ? "" : html::back_link(links.back, links.back_text);
  const std::string sum = single == nullptr ? html::sum_up_sets(sets) : html::sum_up_run(*single->report);
  const std::string head =
      back + format_heading(sets, sum) + (single == nullptr ? "" : html::headline(*single->report));
  return {single == nullptr ? "ptrain benchmark" : "ptrain: " + sets[0].cases[0].name,
          head + arrange_charts(figures) + format_table(sets, table, links) + rest};
}

PageContent make_run_page(const MeasuredRun& run, const std::string& name, const PageLinks& links) {
  RunSet set;
  set.path = run.report_file;
  set.cases.push_back({name, {run}});
  const std::span<const RunSet> sets(&set, 1);
  return make_page(sets, make_table(sets, default_columns()), links);
}

std::string name_run(const MeasuredCase& item, const MeasuredRun& run) {
  return item.runs.size() == 1 ? item.name : fmt::format("{}, round {}", item.name, run.record.repeat + 1);
}

void write_run_pages(std::span<const RunSet> sets, const fs::path& page) {
  std::vector<std::pair<fs::path, std::string>> pages;
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      for (const MeasuredRun& run : item.runs) {
        const std::optional<fs::path> file = run.report ? find_page_file(run) : std::nullopt;
        if (!file) continue;
        const fs::path folder = file->parent_path();
        const PageLinks links{folder, RunLinks::reports, html::file_link(make_relative(page, folder)), "The benchmark"};
        const std::string text = make_run_page(run, name_run(item, run), links).document();
        require_earlier_output("--run-pages", *file, text);
        pages.emplace_back(*file, text);
      }
    }
  }
  for (const auto& [file, text] : pages) write_file_atomic(file, text);
}

}  // namespace ptrain

// ptrain table: the benchmark table of reports as text or a page, and checks of a document's tables against its
// reports.
#include "core/analysis/table.h"
#include "cli/commands.h"
#include "cli/output_format.h"
#include "cli/reference/command_tree.h"
#include "core/analysis/document_tables.h"
#include "core/analysis/html/page.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/io/atomic_file.h"
#include "core/io/free_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* table_formats = "text|markdown|latex|csv|json|html";

struct TableOptions {
  std::vector<std::string> paths;
  std::string columns = default_columns();
  std::string format = "text";
  std::string output;
  std::string figures;
  bool run_pages = false;
  std::string check;
  std::string update;
};

void check_document(const std::string& document) {
  const DocumentTables tables = render_document(document);
  if (tables.tables == 0) fail("{}: no line \"<!-- ptrain table ... -->\": nothing to check", document);
  for (const std::string& difference : tables.differences) print_error_line(difference);
  if (!tables.differences.empty()) {
    fail("{}: {} not as the reports say (ptrain table --update {} corrects the document)", document,
         tables.differences.size() == 1 ? "1 line is" : fmt::format("{} lines are", tables.differences.size()),
         document);
  }
  fmt::print("{}: {} reports\n", document,
             tables.tables == 1 ? "1 table agrees with its" : fmt::format("{} tables agree with their", tables.tables));
}

void update_document(const std::string& document) {
  const DocumentTables tables = render_document(document);
  if (!tables.differences.empty()) write_file_atomic(document, tables.rendered);
  fmt::print("{}: {}, {} changed\n", document, counted(tables.tables, "table"),
             counted(tables.differences.size(), "line"));
}

std::vector<RunSet> load_sets(const TableOptions& options) {
  std::vector<RunSet> sets;
  for (const std::string& path : options.paths) {
    sets.push_back(load_runs(path));
    for (const std::string& note : sets.back().left_out_notes()) print_error_line("note: " + note);
  }
  return sets;
}

std::string render(const TableOptions& options, const std::vector<RunSet>& sets) {
  const Table table = make_table(sets, options.columns);
  if (!options.figures.empty()) html::write_figures(make_figures(sets), options.figures);
  const fs::path from = options.output.empty() ? fs::path(".") : fs::absolute(options.output).parent_path();
  if (options.format == "text") return table_text(table);
  if (options.format == "markdown") {
    std::string text = table_markdown(table, from);
    const std::vector<std::string> footnotes = table_footnotes(table);
    if (!footnotes.empty()) text += fmt::format("\n-: {}\n", fmt::join(footnotes, "; "));
    return text;
  }
  if (options.format == "latex") return table_latex(table);
  if (options.format == "csv") return table_csv(table, from);
  if (options.format == "json") return document_text(table_document(table, from));
  if (options.format == "html") {
    return make_page(sets, table, {from, options.run_pages ? RunLinks::pages : RunLinks::reports}).document();
  }
  fail_usage("--format: expected {}, got \"{}\"", table_formats, options.format);
}

void table(const TableOptions& options) {
  if (!options.check.empty()) return check_document(options.check);
  if (!options.update.empty()) return update_document(options.update);
  if (options.paths.empty()) fail_usage("table: expected reports or folders, or --check DOCUMENT");
  if (options.run_pages && (options.format != "html" || options.output.empty())) {
    fail_usage("--run-pages: expected --format html and --out FILE, the page that they lead back to");
  }
  require_free_output("--out", options.output, {options.paths.begin(), options.paths.end()}, "ptrain.table");
  const std::vector<RunSet> sets = load_sets(options);
  const std::string text = render(options, sets);
  require_earlier_output("--out", options.output, text);
  if (options.run_pages) write_run_pages(sets, options.output);
  if (options.output.empty()) {
    fmt::print("{}", text);
  } else {
    write_file_atomic(options.output, text);
  }
}

}  // namespace

void add_table_command(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("table", "make the benchmark table of reports; --check checks a document's tables");
  const auto options = std::make_shared<TableOptions>();
  std::string ids;
  for (const TableColumn& column : table_columns()) ids += (ids.empty() ? "" : ",") + column.id;
  command->add_option("PATHS", options->paths, "reports, folders of reports or of a benchmark, folder#CASE");
  command->add_option("--columns", options->columns, "comma-separated, of " + ids)->capture_default_str();
  command->add_option("--format", options->format, "output format")->capture_default_str()->type_name(table_formats);
  command->add_flag_callback(
      "--json", [options] { options->format = "json"; }, "same as --format json");
  add_hidden_option(*command, "--output", options->output);
  command->add_option("--out", options->output, "file to write; default: standard output");
  command->add_option("--figures", options->figures,
                      "folder for every figure of the page, as SVG, as PDF without fonts, and as TikZ for LaTeX");
  command->add_flag("--run-pages", options->run_pages,
                    "html: write a page of each run too, index.html beside its report, linked with the table's");
  command->add_option("--check", options->check, "document whose marked tables must agree with their reports");
  command->add_option("--update", options->update, "document whose marked tables are rewritten");
  command->footer(
      "A table is marked by the lines \"<!-- ptrain table PATHS --columns LIST -->\" and \"<!-- /ptrain -->\".\n"
      "Examples:\n  ptrain table runs/smoke --format html --out smoke.html\n"
      "  ptrain table runs/smoke --format html --out runs/smoke/index.html --run-pages\n"
      "  ptrain table runs/smoke --format latex --out paper/table.tex --figures paper\n"
      "  ptrain table --check README.md");
  command->callback([options] { table(*options); });
}

}  // namespace ptrain

#include "core/analysis/table.h"
#include "core/analysis/markdown.h"

#include "core/analysis/html/page.h"
#include "core/analysis/latex.h"
#include "core/base/errors.h"
#include "core/report/schema_check.h"
#include "tests/unit/analysis/example_runs.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

RunSet example_set() {
  RunSet set;
  MeasuredCase item{"a|b", {}};
  for (int r = 0; r < 6; ++r) item.runs.push_back(example_run("a|b", r, 10 + 0.01 * r));
  MeasuredCase failed{"failed", {example_run("failed", 0, 10)}};
  failed.runs[0].record.outcome = RunOutcome::oom;
  set.cases = {item, failed};
  return set;
}

TEST(Table, ShowsFiguresWithTheirIntervals) {
  const std::vector<RunSet> sets = {example_set()};
  const Table table = make_table(sets, "run,speed,memory,accuracy,status");
  EXPECT_EQ(table.rows[0].cells[1].text, "1596.0 images/s ±0.2 %");
  EXPECT_EQ(table.columns[1].title, "Speed (10th percentile of step times, n 6)");
  EXPECT_EQ(table.rows[0].cells[2].text, "120 MiB");
  EXPECT_EQ(table.rows[0].cells[3].text, "0.7500");
  EXPECT_EQ(table.rows[1].cells[1].text, "-");
  EXPECT_EQ(table.rows[1].cells[4].text, "oom");
}

TEST(Table, SaysWhyCellsHaveNoValue) {
  std::vector<RunSet> sets = {example_set()};
  for (MeasuredRun& run : sets[0].cases[0].runs) run.record.figures->evaluation.reset();
  sets[0].cases[1].runs[0].record.message = "does not fit";
  const Table table = make_table(sets, "run,speed,step,accuracy");
  EXPECT_EQ(table_footnotes(table),
            (std::vector<std::string>{"a|b: nothing was evaluated", "failed: no good run (oom: does not fit)"}));
  EXPECT_NE(table_text(table).find("\n-: failed: no good run (oom: does not fit)\n"), std::string::npos);
}

TEST(Table, PutsTheMajorityClassBesideAccuracy) {
  std::vector<RunSet> sets = {example_set()};
  for (MeasuredRun& run : sets[0].cases[0].runs) {
    run.report->evaluation->metrics.push_back(
        example_metric("majority", "majority class", MetricKind::reference, 0.74));
  }
  EXPECT_EQ(make_table(sets, "accuracy").rows[0].cells[0].text, "0.7500 (majority 0.7400)");
}

TEST(Table, ShowsWhatATargetTookOfTheRunsThatReachedIt) {
  std::vector<RunSet> sets = {example_set()};
  for (int r = 0; r < 5; ++r) {
    RunFigures& figures = *sets[0].cases[0].runs[static_cast<std::size_t>(r)].record.figures;
    figures.time_to_accuracy = 12.5;
    figures.samples_to_accuracy = 640;
  }
  const Table table = make_table(sets, "time_to_accuracy,samples_to_accuracy");
  EXPECT_EQ(table.rows[0].cells[0].text, "12.5 s ±0.0 %, 5 of 6 runs");
  EXPECT_EQ(table.rows[0].cells[1].text, "640 ±0.0 %, 5 of 6 runs");
}

TEST(Table, SaysUnitAndRunsInEveryForm) {
  std::vector<RunSet> sets = {example_set()};
  Table table = make_table(sets, "run,speed");
  EXPECT_NE(table_csv(table, ".").find("speed,speed_lower,speed_upper,speed_unit,speed_n"), std::string::npos);
  EXPECT_NE(table_csv(table, ".").find("images/s,6,"), std::string::npos);
  EXPECT_EQ(table_document(table, ".").rows[0].cells[1].runs, 6);
  sets[0].cases[1].runs[0].record.outcome = RunOutcome::ok;
  table = make_table(sets, "run,speed");
  EXPECT_EQ(table.rows[1].cells[1].text, "1600.0 images/s, n 1");
  EXPECT_NE(table_text(table).find("Speed (10th percentile of step times)"), std::string::npos);
}

TEST(Table, CallsTheSpeedOfReportsByWhatTheyHave) {
  std::vector<RunSet> sets = {example_set()};
  sets[0].cases[0].runs[0].record.figures->summary = true;
  EXPECT_EQ(make_table(sets, "speed").columns[0].title, "Speed (samples over time, n 6)");
}

TEST(Table, KeepsAccuracyAndMemoryOfRunsWhoseSpeedDrifts) {
  RunSet set;
  MeasuredCase item{"seeds", {}};
  for (const double top1 : {0.70, 0.80, 0.90}) item.runs.push_back(example_run("seeds", 0, 10, top1));
  item.runs[2].record.outcome = RunOutcome::unstable;
  item.runs[2].record.figures->memory_bytes = std::int64_t{150} << 20;
  set.cases = {item};
  const std::vector<RunSet> sets = {set};
  const Table table = make_table(sets, "speed,memory,accuracy");
  EXPECT_EQ(table.rows[0].cells[0].runs, 2);
  EXPECT_EQ(table.rows[0].cells[1].runs, 3);
  EXPECT_EQ(table.rows[0].cells[2].runs, 3);
  EXPECT_NE(table.rows[0].cells[2].text.find("0.8000"), std::string::npos) << table.rows[0].cells[2].text;
}

TEST(Table, NamesTheFilesOfEveryFigure) {
  const std::vector<RunSet> sets = {example_set()};
  const nlohmann::json json = write_fields(table_document(make_table(sets, default_columns()), "."));
  EXPECT_EQ(schema_problem(json, schema_of_fields<TableDocument>()), "");
  for (const nlohmann::json& cell : json.at("rows").at(0).at("cells")) EXPECT_FALSE(cell.at("sources").empty()) << cell;
}

TEST(Table, EscapesWhatMarkdownAndCsvGiveAMeaning) {
  const std::vector<RunSet> sets = {example_set()};
  EXPECT_NE(table_markdown(make_table(sets, "run,speed"), ".").find("[a\\|b]("), std::string::npos);
  const Table table = make_table(sets, "work");
  EXPECT_NE(table_csv(table, ".").find("\"resnet18, synthetic, 32 px\""), std::string::npos);
}

TEST(Markdown, CellsEscapeWhatWouldEndThem) { EXPECT_EQ(markdown_cell("a|<b>\nc"), "a\\|&lt;b> c"); }

TEST(Latex, EscapesWhatItGivesAMeaning) {
  EXPECT_EQ(latex_text("a_b & 5 % #{}$~^\\"),
            "a\\_b \\& 5 \\% \\#\\{\\}\\$\\textasciitilde{}\\textasciicircum{}\\textbackslash{}");
  EXPECT_EQ(latex_text("O0 -> O1\n±1"), "O0 -\\textgreater{} O1 $\\pm$1");
  EXPECT_EQ(latex_text("a---b"), "a-{}-{}-b");
}

TEST(Latex, HasARowPerCase) {
  std::vector<RunSet> sets = {example_set()};
  sets[0].cases[0].name = "batch_size=16";
  const std::string table = table_latex(make_table(sets, "run,speed"));
  EXPECT_NE(table.find("\\begin{tabular}{lr}"), std::string::npos);
  EXPECT_NE(table.find("batch\\_size=16 & 1596.0 images/s $\\pm$0.2 \\% \\\\\n"), std::string::npos) << table;
}

TEST(Table, RefusesUnknownColumns) { EXPECT_THROW(make_table({}, "sped"), Error); }

TEST(HtmlPage, NeedsNothingFromOutside) {
  const std::vector<RunSet> sets = {example_set()};
  const std::string page = make_page(sets, make_table(sets, default_columns()), {"."}).document();
  for (const char* outside : {"http:", "https:", "<script", "@import", "url("}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
}

TEST(HtmlPage, OfOneRunShowsItsClasses) {
  RunSet set;
  set.cases = {{"one", {example_run("one", 0, 10)}}};
  ClassificationReport& classes = set.cases[0].runs[0].report->classification.emplace();
  classes.classes = {{"<cat>", 8, 6, 0.9, 0.625, 0.7377}, {"dog", 2, 4, 0.25, 0.5, 0.3333}};
  classes.confusion = {{"<cat>", "<cat>", 5}, {"<cat>", "dog", 3}, {"dog", "<cat>", 1}, {"dog", "dog", 1}};
  const std::vector<RunSet> sets = {set};
  const std::string page = make_page(sets, make_table(sets, default_columns()), {"."}).document();
  EXPECT_NE(page.find("Classes of the last evaluation"), std::string::npos);
  EXPECT_NE(page.find(">0.6250<"), std::string::npos);
  EXPECT_NE(page.find("Confusion matrix"), std::string::npos);
  EXPECT_NE(page.find(">&lt;cat&gt;<"), std::string::npos);
}

TEST(HtmlPage, ShowsRunsThatDoNotCountWithTheirReason) {
  std::vector<RunSet> sets = {example_set()};
  sets[0].cases[1].runs[0].record.message = "out of <memory>";
  const std::string page = make_page(sets, make_table(sets, default_columns()), {"."}).document();
  EXPECT_NE(page.find("Runs that are not counted"), std::string::npos);
  EXPECT_NE(page.find(">out of &lt;memory&gt;<"), std::string::npos);
  EXPECT_NE(page.find(">no good run<"), std::string::npos);
}

}  // namespace
}  // namespace ptrain

#include "core/analysis/table.h"
#include "core/analysis/markdown.h"

#include "core/analysis/html/page.h"
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
  EXPECT_EQ(table.columns[1].title, "Speed (typical step, n 6)");
  EXPECT_EQ(table.rows[0].cells[2].text, "120 MiB");
  EXPECT_EQ(table.rows[0].cells[3].text, "0.7500");
  EXPECT_EQ(table.rows[1].cells[1].text, "-");
  EXPECT_EQ(table.rows[1].cells[4].text, "oom");
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
  EXPECT_NE(table_text(table).find("Speed (typical step)"), std::string::npos);
}

TEST(Table, CallsTheSpeedOfReportsByWhatTheyHave) {
  std::vector<RunSet> sets = {example_set()};
  sets[0].cases[0].runs[0].record.figures->summary = true;
  EXPECT_EQ(make_table(sets, "speed").columns[0].title, "Speed (samples over time, n 6)");
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

TEST(Table, RefusesUnknownColumns) { EXPECT_THROW(make_table({}, "sped"), Error); }

TEST(HtmlPage, NeedsNothingFromOutside) {
  const std::vector<RunSet> sets = {example_set()};
  const std::string page = html_page(sets, make_table(sets, default_columns()), ".");
  for (const char* outside : {"http:", "https:", "<script", "@import", "url("}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
}

TEST(HtmlPage, TellsCasesOfTheSameSettingsByTheirValues) {
  const auto measured = [](const std::string& name, nlohmann::json settings) {
    MeasuredCase item{name, {example_run(name, 0, 10)}};
    item.runs[0].record.settings = std::move(settings);
    return item;
  };
  RunSet set;
  set.suite.emplace().suite = "flags";
  set.suite->axes = {{"amp.level", "level", {"O0", "O1"}}, {"data.batch_size", "batch_size", {16, 32}}};
  set.cases = {measured("level=O0,batch_size=16", {{"amp.level", "O0"}, {"data.batch_size", 16}}),
               measured("level=O1,batch_size=32", {{"amp.level", "O1"}, {"data.batch_size", 32}})};
  std::vector<RunSet> sets = {set};
  const auto page = [&] { return html_page(sets, make_table(sets, default_columns()), "."); };
  EXPECT_NE(page().find(">O0, 16<"), std::string::npos);
  EXPECT_NE(page().find("level, batch_size"), std::string::npos);
  sets.push_back({"", std::nullopt, {{"other", {example_run("other", 0, 10)}}}});
  EXPECT_EQ(page().find(">O0, 16<"), std::string::npos);
}

}  // namespace
}  // namespace ptrain

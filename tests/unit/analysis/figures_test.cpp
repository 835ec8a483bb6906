#include "core/analysis/html/case_groups.h"
#include "core/analysis/html/chart_axis.h"
#include "core/analysis/html/effect_figure.h"
#include "core/analysis/html/graph_figure.h"
#include "core/analysis/html/page.h"
#include "core/analysis/html/pdf.h"
#include "core/analysis/html/run_figures.h"
#include "core/analysis/html/run_page.h"
#include "core/analysis/html/summary.h"
#include "core/analysis/html/svg.h"
#include "core/analysis/html/tikz.h"
#include "tests/temporary_directory.h"
#include "tests/unit/analysis/example_factorial.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace ptrain {
namespace {

using html::Drawing;
using html::Figure;
using html::Ink;
using html::Shape;

Figure figure_named(const RunSet& set, const std::string& name) {
  for (Figure& figure : make_figures(std::span(&set, 1))) {
    if (figure.name == name) return std::move(figure);
  }
  ADD_FAILURE() << "no figure " << name;
  return {};
}

std::vector<std::string> texts(const Drawing& drawing) {
  std::vector<std::string> found;
  for (const Shape& shape : drawing.shapes) {
    if (shape.kind == Shape::Kind::text) found.push_back(shape.content);
  }
  return found;
}

std::int64_t lines_in(const Drawing& drawing, Ink ink) {
  return std::count_if(drawing.shapes.begin(), drawing.shapes.end(),
                       [&](const Shape& shape) { return shape.kind == Shape::Kind::polyline && shape.stroke == ink; });
}

void expect_text_inside(const Drawing& drawing) {
  for (const Shape& shape : drawing.shapes) {
    if (shape.kind != Shape::Kind::text) continue;
    const double width = html::text_width(shape.content, shape.size, shape.bold);
    const double part = shape.anchor == html::Anchor::start ? 0 : shape.anchor == html::Anchor::middle ? 0.5 : 1;
    EXPECT_GE(shape.points[0].x - part * width, -0.5) << shape.content;
    EXPECT_LE(shape.points[0].x + (1 - part) * width, drawing.width + 0.5) << shape.content;
    EXPECT_LE(shape.points[0].y, drawing.height) << shape.content;
  }
}

TEST(Figures, ArrangeAFactorialByItsAxes) {
  const RunSet set = factorial(0.5, 0.2, 0.1, 3, 1);
  const auto groups = html::case_groups(std::span(&set, 1));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].series, (std::vector<std::string>{"level: O0", "level: O1"}));
  EXPECT_EQ(groups[0].cases[2].series, 1U);
  EXPECT_EQ(groups[0].cases[3].row, "fusion: full");
  EXPECT_EQ(groups[0].panels().size(), 1U);
  const std::vector<std::string> shown = texts(figure_named(set, "throughput").panels.at(0).drawing);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "fusion: full"), 1);  // one row for both levels
}

TEST(Figures, GiveTheAxesBetweenToPanels) {
  RunSet set = factorial(0.5, 0.2, 0.1, 2, 1);
  set.suite->axes.insert(set.suite->axes.begin() + 1, {"search", "search", {false, true}});
  for (std::size_t i = 0; i < set.cases.size(); ++i) {
    set.suite->cases[i].settings["search"] = i % 2 == 1;
    for (MeasuredRun& run : set.cases[i].runs) run.record.settings = set.suite->cases[i].settings;
  }
  const Figure figure = figure_named(set, "throughput");
  ASSERT_EQ(figure.panels.size(), 2U);
  EXPECT_EQ(figure.panels[1].title, "search: true");
}

TEST(Figures, NeverShareAScaleAmongUnits) {
  RunSet set = factorial(0.5, 0.2, 0, 2, 1);
  for (MeasuredRun& run : set.cases[3].runs) run.record.figures->unit = "sequences/s";
  std::vector<std::string> names;
  for (const Figure& figure : make_figures(std::span(&set, 1))) names.push_back(figure.name);
  EXPECT_TRUE(std::count(names.begin(), names.end(), "throughput-example-images-s")) << names.size();
  EXPECT_TRUE(std::count(names.begin(), names.end(), "throughput-example-sequences-s"));
}

TEST(Figures, DrawIntervalsFromTwoRunsOn) {
  const auto whiskers = [](int repeats) {
    return lines_in(figure_named(factorial(0.5, 0.2, 0, repeats, 1), "throughput").panels.at(0).drawing, Ink::s0);
  };
  EXPECT_EQ(whiskers(1), 0);
  EXPECT_EQ(whiskers(2), 2 * 2 * 2);  // of two cases, both halves, each with its end
}

TEST(Figures, CrossOutRunsThatDoNotCount) {
  RunSet set = factorial(0.5, 0.2, 0, 3, 1);
  const Drawing before = figure_named(set, "throughput").panels.at(0).drawing;
  set.cases[0].runs[1].record.outcome = RunOutcome::unstable;
  const Figure after = figure_named(set, "throughput");
  EXPECT_EQ(lines_in(after.panels.at(0).drawing, Ink::text), lines_in(before, Ink::text) + 2);
  const std::vector<std::string> explained = texts(after.legend);
  EXPECT_EQ(std::count(explained.begin(), explained.end(), "a run that is not counted"), 1);
}

TEST(Figures, KeepTheirScaleFromIntervalsOfTwoRuns) {
  html::Point wide;
  wide.value = 100;
  wide.lower = 0.001;
  wide.upper = 1e6;
  html::Point other;
  other.value = 120;
  const html::Range range = html::find_range({{"a", {wide}}, {"b", {other}}});
  EXPECT_LE(range.high, 200);
  EXPECT_GE(range.low, 0);
}

TEST(Figures, TicksOfLargeAlikeValuesDifferInText) {
  for (const html::Range range : {html::Range{9165, 9167}, {26329, 26331}, {0.75931, 0.75938}, {0, 1}, {-3e6, 5e6}}) {
    std::set<std::string> seen;
    for (const html::Tick& tick : html::ticks(range)) EXPECT_TRUE(seen.insert(tick.text).second) << tick.text;
    EXPECT_GE(seen.size(), 3u);
  }
  EXPECT_EQ(html::figure_text(26329.4), "26329");
  EXPECT_EQ(html::figure_text(9165.23), "9165");
  EXPECT_EQ(html::figure_text(0.759312), "0.7593");
}

TEST(Figures, ForestPlotShowsWhatDiffersFromZero) {
  const EffectsReport clear = find_effects(factorial(0.5, 0.2, 0.4, 5, 1));
  const html::ShownEffects shown = html::effects_to_show(clear, Response::throughput);
  EXPECT_EQ(shown.main.size(), 2U);
  ASSERT_EQ(shown.interactions.size(), 1U);
  EXPECT_TRUE(is_clear(*shown.interactions[0]));
  EffectsReport many = clear;
  for (int i = 0; i < 12; ++i) {
    Effect unclear = *shown.interactions[0];
    unclear.interval = {0.1 * i, -5, 5, true};
    many.effects.push_back(unclear);
  }
  EXPECT_EQ(html::effects_to_show(many, Response::throughput).interactions.size(), 1U);
  EXPECT_EQ(html::effects_to_show(many, Response::throughput).left_out, 12U);
  std::erase_if(many.effects, [](const Effect& e) { return e.changes.size() == 2 && is_clear(e); });
  const html::ShownEffects largest = html::effects_to_show(many, Response::throughput);
  ASSERT_EQ(largest.interactions.size(), 3U);
  EXPECT_NEAR(largest.interactions[0]->interval.estimate, 1.1, 1e-9);
}

TEST(Figures, KeepLongNamesInsideOfTheDrawing) {
  RunSet set = factorial(0.5, 0.2, 0.4, 3, 1);
  set.suite->axes[0].label = "cudnn_batchnorm_spatial_persistent_of_every_layer_and_more_without_a_space";
  set.suite->axes[1].label = std::string(120, 'W');
  for (const Figure& figure : make_figures(std::span(&set, 1))) {
    for (const html::Panel& panel : figure.panels) expect_text_inside(panel.drawing);
    expect_text_inside(figure.legend);
    expect_text_inside(html::whole(figure));
  }
}

TEST(Figures, DrawEveryCurve) {
  RunSet set;
  for (int i = 0; i < 11; ++i) {
    const std::string name = fmt::format("case {}", i);
    set.cases.push_back({name, {example_run(name, 0, 10)}});
    set.cases.back().runs[0].report->evaluations = {{10, 1, example_evaluation(0.5), 1},
                                                    {20, 2, example_evaluation(0.7), 1}};
  }
  std::size_t named = 0;
  for (const html::Panel& panel : figure_named(set, "top1").panels) {
    for (const std::string& text : texts(panel.drawing)) named += text.starts_with("case ") ? 1 : 0;
  }
  EXPECT_EQ(named, 11U);
}

TEST(Figures, DrawSeedsAsAMeanWithABand) {
  RunSet set;
  set.cases.push_back({"one", {}});
  for (int seed = 0; seed < 3; ++seed) {
    MeasuredRun& run = set.cases.back().runs.emplace_back(example_run("one", seed, 10, 0.7 + 0.1 * seed));
    run.record.seed = seed;
    run.report->evaluations = {{10, 1, example_evaluation(0.5 + 0.1 * seed), 1}, {20, 2, example_evaluation(0.7), 1}};
  }
  const auto count_bands = [&] {
    const html::Figure figure = figure_named(set, "top1");
    const auto& shapes = figure.panels.front().drawing.shapes;
    return std::count_if(shapes.begin(), shapes.end(), [](const html::Shape& shape) { return shape.faint; });
  };
  EXPECT_EQ(count_bands(), 1);
  EXPECT_NE(table_text(make_table(std::span(&set, 1), "run,accuracy")).find("0.8000 ± 0.1000"), std::string::npos);
  for (MeasuredRun& run : set.cases.back().runs) run.record.seed = 0;
  EXPECT_EQ(count_bands(), 0) << "repeats of one seed are one curve";
}

TEST(RunFigures, ShowWhatTheRunReported) {
  RunSet set;
  set.cases = {{"one", {example_run("one", 0, 10)}}};
  Report& report = *set.cases[0].runs[0].report;
  report.amp.scaler.history = {{1, 65536}, {12, 32768}};
  report.evaluations = {{10, 1, example_evaluation(0.5), 1}, {20, 2, example_evaluation(0.7), 1}};
  const Figure scale = figure_named(set, "loss_scale");
  const auto& shapes = scale.panels.at(0).drawing.shapes;
  const auto curve = std::find_if(shapes.begin(), shapes.end(), [](const Shape& s) { return s.stroke == Ink::s0; });
  ASSERT_NE(curve, shapes.end());
  EXPECT_EQ(curve->points.size(), 4U);  // a step, not a slope
  EXPECT_EQ(texts(figure_named(set, "accuracy").legend), (std::vector<std::string>{"top-1", "top-5"}));
  EXPECT_EQ(figure_named(set, "step_time").panels.size(), 1U);
  const std::string page = make_page(std::span(&set, 1), make_table(std::span(&set, 1), "run,speed"), {"."}).document();
  EXPECT_NE(page.find(">data.image_size</td><td data-title=\"Value\">32<"), std::string::npos);
}

TEST(RunFigures, PutOpsUnderTheRoofline) {
  Report report = example_report(10);
  report.utilization.emplace().peak_flops = 1e12;
  report.environment.rates.emplace().memory_bandwidth = 1e11;
  report.kernels = {
      {"conv2d", "a", "", 10, 20, 1e9, 1e7}, {"conv2d", "b", "", 10, 20, 1e9, 1e7}, {"copy", "c", "", 10, 10, 0, 5e7}};
  const std::vector<OpTime> ops = op_times(report);
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].op, "conv2d");
  EXPECT_DOUBLE_EQ(ops[0].milliseconds, 4);
  EXPECT_DOUBLE_EQ(*least_milliseconds(ops[0], *make_roofline(report)), 2);
  EXPECT_DOUBLE_EQ(*least_milliseconds(ops[1], *make_roofline(report)), 0.5);
  const std::string section = html::op_section(report);
  EXPECT_NE(section.find(">50 %<"), std::string::npos) << section;
  MeasuredRun run = example_run("one", 0, 10);
  run.report = report;
  const std::vector<Figure> figures = html::run_figures(run);
  const auto roofline =
      std::find_if(figures.begin(), figures.end(), [](const Figure& figure) { return figure.name == "roofline"; });
  ASSERT_NE(roofline, figures.end());
  expect_text_inside(roofline->panels.at(0).drawing);
  EXPECT_EQ(texts(roofline->legend), (std::vector<std::string>{"conv2d: 80.0 %"}));
}

/// A timed op in its place in the graph.
KernelReport graph_node(const std::string& op, const std::string& name, const std::string& pass, double milliseconds,
                        std::vector<std::string> inputs) {
  const std::string amp_class = op == "conv2d" ? "white" : "grey";
  return {
      op, name, "", 10, 10 * milliseconds, 1, 1, GraphNodeReport{pass, amp_class, "bf16", 3 << 20, std::move(inputs)}};
}

TEST(RunFigures, DrawTheNetworkWithItsCosts) {
  const std::string longest = "a.layer.whose.name.is.too.long.for.its.row.conv2";
  Report report = example_report(10);
  EXPECT_TRUE(html::draw_graph(report).panels.empty());
  report.kernels = {graph_node("conv2d", "conv1", "forward", 2, {}),
                    graph_node("conv2d", longest, "forward", 1, {"conv1"}),
                    graph_node("add", "sum", "forward", 0.5, {"conv1", longest}),
                    graph_node("conv2d_grad_weight", "conv1.grad1", "backward", 3, {"sum.grad"}),
                    graph_node("optimizer_update", "update", "update", 3.5, {})};
  const Figure figure = html::draw_graph(report);
  const Drawing& drawing = figure.panels.at(0).drawing;
  expect_text_inside(drawing);
  const std::vector<std::string> shown = texts(drawing);
  for (const char* text : {"conv1", "sum", "5", "0.5", "3"}) EXPECT_TRUE(std::ranges::count(shown, text)) << text;
  EXPECT_EQ(std::ranges::count_if(shown, [](const std::string& text) { return text.starts_with("..."); }), 1);
  std::vector<std::size_t> bends;  // of the lines: two to the next row, one in a lane
  for (const Shape& shape : drawing.shapes) {
    if (shape.kind == Shape::Kind::polyline && shape.stroke == Ink::mute) bends.push_back(shape.points.size());
  }
  EXPECT_EQ(bends, (std::vector<std::size_t>{2, 4, 2}));
  EXPECT_EQ(texts(figure.legend), (std::vector<std::string>{"white: bf16", "grey: bf16"}));
  EXPECT_NE(figure.notes.back().find("35.0 %"), std::string::npos) << figure.notes.back();
}

TEST(RunFigures, FoldTheDrawingOfALargeNetwork) {
  RunSet set;
  set.cases = {{"one", {example_run("one", 0, 10)}}};
  Report& report = *set.cases[0].runs[0].report;
  for (int i = 0; i < 100; ++i) {
    report.kernels.push_back(
        graph_node("conv2d", fmt::format("conv{}", i), "forward", 1, {fmt::format("conv{}", i - 1)}));
  }
  const std::string page = make_page(std::span(&set, 1), make_table(std::span(&set, 1), "run,speed"), {"."}).document();
  EXPECT_LT(page.find("<summary>The network<"), page.find("The network, by time")) << page.size();
}

TEST(RunFigures, KeepTheRooflineAboveWhatAnOpReached) {
  Report report = example_report(10);
  report.utilization.emplace().peak_flops = 1e10;
  report.environment.rates.emplace().memory_bandwidth = 1e9;
  report.kernels = {{"conv2d", "a", "", 10, 20, 1e9, 1e7}, {"copy", "c", "", 10, 10, 0, 5e7}};
  const std::optional<Roof> roof = make_roofline(report);
  ASSERT_TRUE(roof);
  EXPECT_TRUE(roof->raised);
  EXPECT_DOUBLE_EQ(roof->peak, 5e11);
  EXPECT_DOUBLE_EQ(roof->bandwidth.value(), 5e10);
  for (const OpTime& op : op_times(report)) {
    EXPECT_LE(least_milliseconds(op, *roof).value(), op.milliseconds * 1.000001) << op.op;
  }
}

TEST(Figures, EscapeNamesInSvgAndPdf) {
  Drawing drawing;
  drawing.height = 20;
  drawing.text({0, 12}, "a<b> & \"c\" (d\\) é 漢");
  const std::string svg = html::svg_file(drawing), pdf = html::pdf_file(drawing);
  EXPECT_NE(svg.find(">a&lt;b&gt; &amp; &quot;c&quot; (d\\) é 漢</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/><text"), std::string::npos) << svg;
  EXPECT_NE(pdf.find("(a<b> & \"c\" \\(d\\\\\\) \xe9 ?) Tj"), std::string::npos) << pdf;
  EXPECT_EQ(html::file_stem("../a b/c_1,\"d\""), "-a-b-c_1-d-");
}

TEST(Figures, DrawTheTextOfPdfAsOutlines) {
  const std::optional<html::OutlineFonts> fonts = html::OutlineFonts::find();
  if (!fonts) GTEST_SKIP() << "neither Liberation Sans nor DejaVu Sans is installed";
  EXPECT_NEAR(fonts->regular.width("ab"), fonts->regular.width("a") + fonts->regular.width("b"), 1e-9);
  EXPECT_EQ(fonts->regular.outline("o").size(), 2U);  // its ring
  EXPECT_EQ(fonts->regular.outline("i").size(), 2U);  // its dot
  EXPECT_EQ(fonts->regular.outline("\u00e9").size(), 3U) << "a letter and its accent";
  EXPECT_TRUE(fonts->regular.outline(" ").empty());
  for (const auto& contour : fonts->bold.outline("Top-1 \u00d7 \u00b1")) {
    for (const auto& point : contour) {
      EXPECT_GT(point.at.y, -0.5);
      EXPECT_LT(point.at.y, 1.2);
    }
  }
  Drawing drawing;
  drawing.height = 20;
  drawing.text({0, 12}, "loss");
  const std::string pdf = html::pdf_file(drawing, &*fonts);
  EXPECT_EQ(pdf.find("/Font"), std::string::npos);
  EXPECT_NE(pdf.find(" c h "), std::string::npos);
}

TEST(Figures, RefuseDamagedFonts) {
  const TemporaryDirectory folder;
  const std::string file = (folder / "font.ttf").string();
  for (const std::string& bytes :
       {std::string(), std::string("\0\1\0\0\0\1\0\0\0\0\0\0", 12), std::string(64, '\xff')}) {
    std::ofstream(file) << bytes;
    EXPECT_THROW(html::OutlineFont{file}, Error);
  }
}

TEST(Figures, AreInLatexToo) {
  Drawing drawing;
  drawing.height = 20;
  drawing.description = "50 % of A & B";
  drawing.text({0, 12}, "a_b & 5 %");
  drawing.marker({10, 10}, 0, false);
  drawing.line({0, 0}, {1, 2}, Ink::s1, 2);
  drawing.shapes.back().dash = 1;
  const std::string text = html::tikz_file(drawing);
  EXPECT_TRUE(text.starts_with("% 50 \\% of A \\& B\n")) << text;
  EXPECT_NE(text.find("\\definecolor{ptrains1}{HTML}{D55E00}"), std::string::npos) << text;
  EXPECT_NE(text.find("{a\\_b \\& 5 \\%};"), std::string::npos) << text;
  EXPECT_NE(text.find("dash pattern=on 4.5bp off 2.25bp] (0.00,0.00) -- (1.00,2.00);"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '{'), std::count(text.begin(), text.end(), '}'));
}

TEST(Figures, ShowTimeToTheTargetUtilizationAndEnergyWhereTheyAreKnown) {
  RunSet set = factorial(0.5, 0.2, 0.1, 2, 1);
  const auto count = [&](const std::string& name) {
    const std::vector<Figure> figures = make_figures(std::span(&set, 1));
    return std::count_if(figures.begin(), figures.end(), [&](const Figure& figure) { return figure.name == name; });
  };
  for (const char* name : {"time_to_accuracy", "utilization", "energy"}) EXPECT_EQ(count(name), 0) << name;
  MeasuredRun& run = set.cases[1].runs[0];
  run.record.figures->time_to_accuracy = 12.5;
  run.report.emplace(example_report(10));
  run.report->utilization.emplace().mfu = 0.42;
  run.report->gpu.emplace().energy_joules_per_sample = 0.3;
  for (const char* name : {"time_to_accuracy", "utilization", "energy"}) EXPECT_EQ(count(name), 1) << name;
}

TEST(Summary, SaysWhatRunsCameTo) {
  Report report = example_report(10);
  EXPECT_EQ(html::sum_up_run(report),
            "resnet18 on synthetic: top-1 0.7500 after 20 steps, at 1600 images/s in O0 (fp32).");
  report.time_to_accuracy.emplace(TargetReport{"top1", 0.8});
  EXPECT_NE(html::sum_up_run(report).find("; top-1 0.8 was not reached."), std::string::npos);
  report.status = RunStatus::diverged;
  report.message = "loss is nan";
  report.progress.steps = 3;
  EXPECT_EQ(html::sum_up_run(report), "resnet18 on synthetic: diverged after 3 of 20 steps: loss is nan");
  const RunSet sweep = factorial(0.5, 0.2, 0, 5, 1);
  EXPECT_TRUE(html::sum_up_sets(std::span(&sweep, 1)).starts_with("level: O0 -> O1 changes throughput by +"))
      << html::sum_up_sets(std::span(&sweep, 1));
  RunSet plain;
  plain.cases = {{"one", {example_run("one", 0, 10)}}, {"two", {example_run("two", 0, 5)}}};
  EXPECT_EQ(html::sum_up_sets(std::span(&plain, 1)), "two is the fastest of 2 cases, at 3200.0 images/s.");
}

TEST(Figures, AreWholePdfFiles) {
  Drawing drawing;
  drawing.height = 20;
  for (std::size_t series = 0; series < html::series_inks; ++series) drawing.marker({10, 10}, series, false);
  const std::string pdf = html::pdf_file(drawing);
  EXPECT_TRUE(pdf.starts_with("%PDF-1.4\n"));
  const std::size_t table = std::stoul(pdf.substr(pdf.find("startxref\n") + 10));
  EXPECT_EQ(pdf.substr(table, 5), "xref\n");
  const std::size_t first = std::stoul(pdf.substr(pdf.find("65535 f \n") + 9, 10));
  EXPECT_EQ(pdf.substr(first, 7), "1 0 obj");
}

}  // namespace
}  // namespace ptrain

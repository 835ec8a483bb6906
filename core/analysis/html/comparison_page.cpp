#include "core/analysis/html/comparison_page.h"

#include "core/analysis/html/chart_axis.h"
#include "core/analysis/html/charts.h"
#include "core/analysis/html/elements.h"
#include "core/analysis/html/svg.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

using html::Figure;
using html::Point;
using html::PointAxis;
using html::PointRow;

/// A point with its interval, as "+3.1 (+2.4 to +3.9)".
Point make_change_point(double estimate, bool bounded, double lower, double upper, int digits) {
  Point point;
  point.value = estimate;
  point.text = fmt::format("{:+.{}f}", estimate, digits);
  if (!bounded) {
    point.hollow = true;
    return point;
  }
  point.lower = lower;
  point.upper = upper;
  point.text += fmt::format(" ({:+.{}f} to {:+.{}f})", lower, digits, upper, digits);
  return point;
}

/// One panel of rows over a common axis; none without rows.
void add_panel(Figure& figure, const std::string& title, const std::vector<PointRow>& rows, PointAxis axis) {
  axis.range = find_range(rows);
  axis.value_column = value_column(rows);
  if (!axis.range.empty()) figure.panels.push_back({title, point_chart(rows, axis, figure.title)});
}

/// Changes of step time with their intervals, among the thresholds.
Figure make_change_figure(const Comparison& comparison) {
  const SpeedRule& rule = comparison.rule.speed;
  Figure figure;
  figure.title = fmt::format("Change of the time per sample and its {:g} % interval", 100 * rule.confidence);
  std::vector<PointRow> rows;
  for (const CaseComparison& item : comparison.cases) {
    if (item.speed.runs == 0) continue;
    const Interval& percent = item.speed.percent;
    Point point = make_change_point(percent.estimate, percent.bounded, percent.lower, percent.upper, 1);
    point.tip = fmt::format("{}: {}", item.name, to_string(item.verdict(comparison.rule)));
    rows.push_back({item.name, {std::move(point)}});
  }
  PointAxis axis;
  axis.title = "change, %; above 0 is slower";
  axis.reference = 0;
  axis.tolerance = rule.threshold_percent;
  add_panel(figure, "", rows, axis);
  figure.notes.push_back(
      fmt::format("Dashed: the threshold of {:g} %. Hollow: too few runs for an interval.", rule.threshold_percent));
  return figure;
}

Point make_speed_point(const SideFigures& side, std::size_t series) {
  Point point;
  point.value = side.speed;
  point.lower = side.lower;
  point.upper = side.upper;
  point.series = series;
  point.text = html::figure_text(side.speed);
  point.tip = fmt::format("n {}, measured {}", side.runs, side.started.text());
  return point;
}

/// Speeds of both sides, a panel for each unit.
Figure make_speed_figure(const Comparison& comparison) {
  Figure figure;
  figure.title = "Speed of base and new with 95 % intervals";
  figure.legend = html::legend({"base: " + comparison.base, "new: " + comparison.changed}, html::LegendOf::points);
  std::vector<std::pair<std::string, std::vector<PointRow>>> units;
  for (const CaseComparison& item : comparison.cases) {
    if (!item.base || !item.changed || item.base->unit != item.changed->unit) continue;
    auto known = std::find_if(units.begin(), units.end(), [&](const auto& u) { return u.first == item.base->unit; });
    if (known == units.end()) known = units.insert(known, {item.base->unit, {}});
    known->second.push_back({item.name, {make_speed_point(*item.base, 0), make_speed_point(*item.changed, 1)}});
  }
  for (const auto& [unit, rows] : units) add_panel(figure, unit, rows, {{}, unit, {}});
  return figure;
}

/// Changes of the primary metrics, a panel for each.
Figure make_accuracy_figure(const Comparison& comparison) {
  Figure figure;
  figure.title = "Change of the primary metric and its 95 % interval";
  std::vector<std::pair<MetricInfo, std::vector<PointRow>>> metrics;
  for (const CaseComparison& item : comparison.cases) {
    const AccuracyChange& a = item.accuracy;
    if (!a.compared) continue;
    auto known =
        std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.first.name == a.metric->name; });
    if (known == metrics.end()) known = metrics.insert(known, {*a.metric, {}});
    Point point = make_change_point(a.changed - a.base, a.bounded, a.lower, a.upper, a.metric->digits(a.base));
    point.tip = fmt::format("{}: {}", item.name, to_string(a.verdict));
    known->second.push_back({item.name, {std::move(point)}});
  }
  for (const auto& [metric, rows] : metrics) {
    PointAxis axis;
    axis.title = fmt::format("change of {}; {} is better", metric.title, metric.higher_is_better ? "higher" : "lower");
    axis.reference = 0;
    if (metric.is_bounded()) axis.tolerance = comparison.rule.accuracy_margin;
    add_panel(figure, "", rows, axis);
  }
  return figure;
}

std::string make_cases_section(const Comparison& comparison) {
  const ComparisonTable table = comparison_table(comparison);
  html::HtmlTable shown;
  for (std::size_t i = 0; i < table.titles.size(); ++i) {
    shown.columns.push_back({table.titles[i], i > 1 && i + 1 < table.titles.size()});
  }
  for (const std::vector<std::string>& row : table.rows) {
    shown.rows.emplace_back(row.begin(), row.end());
  }
  return html::table_section(shown);
}

std::string make_differences_section(const Comparison& comparison) {
  html::HtmlTable table{"What differs", {{"What"}, {"Base"}, {"New"}, {"Allowed"}}, {}};
  for (const Difference& d : comparison_differences(comparison)) {
    table.rows.push_back({{d.what}, {d.base}, {d.changed}, {comparison.rule.allows(d.kind) ? "yes" : "no"}});
  }
  return html::table_section(table);
}

}  // namespace

std::string comparison_page(const Comparison& comparison) {
  const CompareRule& rule = comparison.rule;
  std::string content = fmt::format("<h1>{}</h1>\n", html::escaped(std::string(to_string(comparison.verdict()))));
  content += html::paragraph(comparison.summary());
  content +=
      html::paragraph(fmt::format("Threshold: {:g} % of the time per sample at {:g} % confidence; accuracy "
                                  "margin: {:g}.",
                                  rule.speed.threshold_percent, 100 * rule.speed.confidence, rule.accuracy_margin));
  content += html::paragraph(fmt::format("Base: {}. New: {}.", comparison.base, comparison.changed));
  content += "<div class=\"charts\">\n";
  for (const Figure& figure :
       {make_change_figure(comparison), make_speed_figure(comparison), make_accuracy_figure(comparison)}) {
    if (!figure.panels.empty()) content += html::figure_section(figure);
  }
  content += "</div>\n" + make_cases_section(comparison);
  for (const std::string& line : comparison_remarks(comparison)) content += html::paragraph(line, " class=\"note\"");
  content += make_differences_section(comparison);
  return html::page_document(fmt::format("{}: ptrain compare", to_string(comparison.verdict())), content);
}

}  // namespace ptrain

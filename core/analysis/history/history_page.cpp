#include "core/analysis/history/history_page.h"

#include "core/analysis/html/charts.h"
#include "core/analysis/html/elements.h"
#include "core/analysis/html/svg.h"
#include "core/report/statistics.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

/// The median of each level, as a line that steps at the change points.
html::Series draw_levels(const HistorySeries& series) {
  html::Series levels{"level", {}, {}, 1};
  std::size_t first = 0;
  for (std::size_t i = 0; i <= series.changes.size(); ++i) {
    const std::size_t last =
        i == series.changes.size() ? series.points.size() : static_cast<std::size_t>(series.changes[i].at);
    std::vector<double> values;
    for (std::size_t k = first; k < last; ++k) values.push_back(series.points[k].value);
    const double level = quantile(values, 0.5);
    for (const std::size_t at : {first, last - 1}) {
      levels.x.push_back(static_cast<double>(at));
      levels.y.push_back(level);
    }
    first = last;
  }
  return levels;
}

std::string format_title(const HistorySeries& series) {
  const std::string title = fmt::format("{}: {}", series.case_name, series.figure());
  return series.unit.empty() ? title : fmt::format("{} ({})", title, series.unit);
}

/// The values with their intervals, and the levels.
std::string draw_chart(const HistorySeries& series) {
  html::Series values{"measured", {}, {}, 0};
  html::LineAxes axes{"", series.unit, {}, {}};
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const HistoryPoint& point = series.points[i];
    values.x.push_back(static_cast<double>(i));
    values.y.push_back(point.value);
    values.lower.push_back(point.lower.value_or(point.value));
    values.upper.push_back(point.upper.value_or(point.value));
    axes.x_names.push_back(point.label);
    axes.y.add(values.lower.back());
    axes.y.add(values.upper.back());
  }
  html::Figure figure;
  figure.title = format_title(series);
  figure.legend = html::legend({"measured, with its 95 % interval", "level"}, html::LegendOf::lines);
  figure.panels.push_back({"", html::line_chart({values, draw_levels(series)}, axes, figure.title)});
  return html::figure_section(figure);
}

std::string format_interval(const HistoryPoint& point) {
  return point.lower && point.upper ? fmt::format("{:.4g} to {:.4g}", *point.lower, *point.upper) : "";
}

/// A row for each point.
std::string make_points_table(const HistorySeries& series) {
  html::HtmlTable table{"",
                        {{"Label"},
                         {"Measured"},
                         {"Commit"},
                         {"Value", true},
                         {"95 % interval", true},
                         {"Runs", true},
                         {"Against the first", true},
                         {"Against the one before", true},
                         {"Change of level", true}},
                        {}};
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const HistoryPoint& point = series.points[i];
    std::string change;
    for (const HistoryChange& item : series.changes) {
      if (item.at == static_cast<std::int64_t>(i)) change = size_text(series, item);
    }
    std::string against_first, against_before;
    if (i > 0) {
      against_first = difference_text(series, series.points.front(), point);
      against_before = difference_text(series, series.points[i - 1], point);
    }
    table.rows.push_back({point.label, point.measured, point.commit, value_text(series, point), format_interval(point),
                          std::to_string(point.runs), against_first, against_before, change});
  }
  return html::folded(fmt::format("Points of {}", format_title(series)), html::table_section(table));
}

std::string make_overview(std::span<const HistorySeries> group) {
  const HistoryTable table = history_table(group);
  html::HtmlTable shown;
  for (std::size_t i = 0; i < table.titles.size(); ++i) {
    shown.columns.push_back({table.titles[i], i >= 2 && i + 1 < table.titles.size()});
  }
  for (const std::vector<std::string>& row : table.rows) shown.rows.emplace_back(row.begin(), row.end());
  return html::table_section(shown);
}

/// What a gate would decide, as a heading.
const char* name_outcome(const History& history) {
  switch (history.outcome()) {
    case ExitCode::regressed:
      return "REGRESSION";
    case ExitCode::inconclusive:
      return "TOO FEW POINTS";
    default:
      return "NO REGRESSION";
  }
}

}  // namespace

std::string history_page(const History& history) {
  std::string content = fmt::format("<h1>{}</h1>\n", name_outcome(history));
  const std::vector<std::span<const HistorySeries>> groups = group_series(history);
  for (const std::span<const HistorySeries> group : groups) {
    for (const std::string& line : list_changes(group)) content += html::paragraph(line);
  }
  for (const std::span<const HistorySeries> group : groups) {
    content += fmt::format("<h1>{}</h1>\n", html::escaped(group_title(group)));
    std::string charts, tables;
    for (const HistorySeries& series : group) {
      if (!series.varies) continue;
      charts += draw_chart(series);
      tables += make_points_table(series);
    }
    content += make_overview(group) + "<div class=\"charts\">\n" + charts + "</div>\n" + tables;
  }
  for (const std::string& line : remarks(history)) content += html::paragraph(line, " class=\"note\"");
  return html::page_document(fmt::format("{}: ptrain history", name_outcome(history)), content);
}

}  // namespace ptrain

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

std::string draw_chart(const HistorySeries& series) {
  html::Series values{"measured", {}, {}, 0};
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    values.x.push_back(static_cast<double>(i));
    values.y.push_back(series.points[i].value);
  }
  html::Figure figure;
  figure.title = format_title(series);
  figure.legend = html::legend({"measured", "level"}, html::LegendOf::lines);
  figure.panels.push_back(
      {"", html::line_chart({values, draw_levels(series)}, {"point", series.unit, {}, {}}, figure.title)});
  for (const HistoryChange& change : series.changes) figure.notes.push_back(change_text(series, change));
  return html::figure_section(figure);
}

/// A row for each point.
std::string make_points_table(const HistorySeries& series) {
  html::HtmlTable table{
      "",
      {{"Point", true}, {"Label"}, {"Measured"}, {"Commit"}, {"Value", true}, {"Runs", true}, {"Change", true}},
      {}};
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const HistoryPoint& point = series.points[i];
    std::string change;
    for (const HistoryChange& item : series.changes) {
      if (item.at == static_cast<std::int64_t>(i)) change = size_text(series, item);
    }
    table.rows.push_back({std::to_string(i), point.label, point.measured, point.commit, value_text(series, point),
                          std::to_string(point.runs), change});
  }
  return html::table_section(table);
}

}  // namespace

std::string history_page(const History& history) {
  std::string content;
  for (const std::span<const HistorySeries> group : group_series(history)) {
    content += fmt::format("<h1>{}</h1>\n", html::escaped(group_title(group)));
    std::string constant;
    for (const HistorySeries& series : group) {
      if (series.varies) {
        content += draw_chart(series) + make_points_table(series);
      } else {
        constant += fmt::format("{}{} {}", constant.empty() ? "" : "; ", format_title(series),
                                value_text(series, series.points.back()));
      }
    }
    content += html::paragraph(constant.empty() ? "" : "the same at every point: " + constant);
  }
  for (const std::string& line : remarks(history)) content += html::paragraph(line);
  return html::page_document("ptrain history", content);
}

}  // namespace ptrain

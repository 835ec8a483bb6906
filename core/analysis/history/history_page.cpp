#include "core/analysis/history/history_page.h"

#include "core/analysis/html/charts.h"
#include "core/analysis/html/style.h"
#include "core/analysis/html/svg.h"
#include "core/report/statistics.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

/// The median of each level, as a line that steps at the change points.
html::Series levels_of(const HistorySeries& series) {
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

std::string chart_of(const HistorySeries& series) {
  html::Series values{"measured", {}, {}, 0};
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    values.x.push_back(static_cast<double>(i));
    values.y.push_back(series.points[i].value);
  }
  std::string title = fmt::format("{}: {}", series.case_name, name_of(series.response));
  if (!series.unit.empty()) title += fmt::format(" ({})", series.unit);
  std::string changes;
  for (const HistoryChange& change : series.changes) {
    changes += fmt::format("<p>{}</p>\n", html::escaped(change_text(series, change)));
  }
  return fmt::format(
      "<section><h2>{}</h2>\n{}{}{}</section>\n", html::escaped(title),
      html::svg_element(html::legend({"measured", "level"}, html::LegendOf::lines)),
      html::svg_element(html::line_chart({values, levels_of(series)}, {"point", series.unit, {}, {}}, title)), changes);
}

/// Rows are the points, columns what was measured at them.
std::string points_table(std::span<const HistorySeries> group) {
  std::string body;
  for (const HistorySeries& series : group) {
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const HistoryPoint& point = series.points[i];
      std::string change;
      for (const HistoryChange& item : series.changes) {
        if (item.at == static_cast<std::int64_t>(i)) change = size_text(series, item);
      }
      body += fmt::format(
          "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td>"
          "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
          html::escaped(series.case_name), name_of(series.response), i, html::escaped(point.label),
          html::escaped(point.measured), html::escaped(point.commit), value_text(series, point), point.runs, change);
    }
  }
  return fmt::format(
      "<section class=\"wide\"><table><thead><tr><th>Case</th><th>Figure</th><th class=\"n\">Point</th><th>Label</th>"
      "<th>Measured</th><th>Commit</th><th class=\"n\">Value</th><th class=\"n\">Runs</th><th class=\"n\">Change</th>"
      "</tr></thead><tbody>\n{}</tbody></table></section>\n",
      body);
}

}  // namespace

std::string history_page(const History& history) {
  std::string content;
  for (const std::span<const HistorySeries> group : groups_of(history)) {
    content += fmt::format("<h1>{}</h1>\n<div class=\"charts\">\n", html::escaped(group_title(group)));
    for (const HistorySeries& series : group) {
      if (series.varies) content += chart_of(series);
    }
    content += "</div>\n" + points_table(group);
  }
  for (const std::string& line : remarks(history)) content += fmt::format("<p>{}</p>\n", html::escaped(line));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>ptrain history</title>\n"
      "<style>{}</style></head>\n<body><main>\n{}</main></body></html>\n",
      html::style(), content);
}

}  // namespace ptrain

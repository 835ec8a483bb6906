// Points with intervals, in rows; and the legend of series.
#include "core/analysis/html/chart_axis.h"

#include <algorithm>

namespace ptrain::html {
namespace {

constexpr double line_height = 15, point_height = 16, row_gap = 9, side_margin = 6;

/// Half of an interval, from the value to `bound`; an arrow where it extends beyond the drawing.
void draw_reach(Drawing& drawing, double bound, const Point& point, const Scale& scale, double y) {
  const Ink ink = series_ink(point.series);
  const double end = scale.at(std::clamp(bound, scale.range.low, scale.range.high));
  drawing.line({scale.at(*point.value), y}, {end, y}, ink, 2);
  if (bound >= scale.range.low && bound <= scale.range.high) {
    drawing.line({end, y - 4}, {end, y + 4}, ink, 2);
  } else {
    const double back = bound < scale.range.low ? 5 : -5;
    for (const double side : {4.0, -4.0}) drawing.line({end, y}, {end + back, y + side}, ink, 2);
  }
}

void draw_point(Drawing& drawing, const Point& point, const Scale& scale, double y) {
  if (point.value) {
    for (const auto& bound : {point.lower, point.upper}) {
      if (bound) draw_reach(drawing, *bound, point, scale, y);
    }
    drawing.marker({scale.at(*point.value), y}, point.series, point.hollow, point.tip);
  }
  for (const double value : point.uncounted) drawing.cross({scale.at(value), y}, Ink::text, point.tip);
}

struct Mark {
  double value = 0;
  std::size_t dash = 0;
};
/// The reference, and the ends of its tolerance.
std::vector<Mark> list_marks(const PointAxis& axis) {
  if (!axis.reference) return {};
  std::vector<Mark> marks = {{*axis.reference, 0}};
  if (!axis.tolerance) return marks;
  for (const double side : {-1.0, 1.0}) marks.push_back({*axis.reference + side * *axis.tolerance, 1});
  return marks;
}

/// Draws the grid behind a point only, so that no line crosses a label.
void draw_grid(Drawing& drawing, const PointAxis& axis, const Scale& scale, double top) {
  for (const Tick& tick : ticks(scale.range)) {
    drawing.line({scale.at(tick.value), top}, {scale.at(tick.value), top + point_height}, Ink::grid);
  }
  for (const auto& [value, dash] : list_marks(axis)) {
    drawing.line({scale.at(value), top}, {scale.at(value), top + point_height}, Ink::mute, 1.5);
    drawing.shapes.back().dash = dash;
  }
}

/// Label, values and marks of a row from `top` on; returns its height.
double draw_row(Drawing& drawing, const PointRow& row, const PointAxis& axis, const Scale& scale, double top) {
  const double column = axis.value_column;
  double label_width = drawing.width, y = top;
  if (column == 0 && !row.points.empty()) {
    const std::string& value = row.points.front().text;
    drawing.text({drawing.width, y + 12}, value, Ink::text, Anchor::end);
    label_width -= text_width(value, text_size) * 1.15 + 8;
  }
  const std::vector<std::string> lines =
      row.label.empty() ? std::vector<std::string>{} : wrapped(row.label, label_width);
  for (const std::string& line : lines) {
    drawing.text({0, y + 12}, line, Ink::soft);
    drawing.shapes.back().bold = row.points.empty();
    y += line_height;
  }
  if (lines.empty() && column == 0) y += line_height;
  y += 3;
  for (const Point& point : row.points) {
    draw_grid(drawing, axis, scale, y);
    draw_point(drawing, point, scale, y + point_height / 2);
    if (column > 0)
      drawing.text({drawing.width, y + point_height / 2 + 4}, point.text, Ink::text, Anchor::end, tick_size);
    y += point_height;
  }
  return y + row_gap - top;
}

}  // namespace

Drawing legend(const std::vector<std::string>& names, LegendOf kind, const std::string& uncounted) {
  Drawing drawing;
  double x = 0, y = 0;
  const auto add = [&](const std::string& name, double mark, const auto& draw) {
    const std::vector<std::string> lines = wrapped(name, drawing.width - mark);
    const double width = mark + text_width(lines.front(), text_size) * 1.1;
    if (x > 0 && (x + width > drawing.width || lines.size() > 1)) {
      x = 0;
      y += 18;
    }
    draw(Position{x, y + 9});
    for (std::size_t i = 0; i < lines.size(); ++i) {
      drawing.text({x + mark, y + 13 + line_height * static_cast<double>(i)}, lines[i], Ink::soft);
    }
    if (lines.size() > 1) y += line_height * static_cast<double>(lines.size() - 1);
    x += width + 14;
    drawing.height = y + 20;
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool line = kind == LegendOf::lines;
    add(names[i], line ? 30 : 14, [&](Position at) {
      if (line) {
        drawing.line(at, {at.x + 24, at.y}, series_ink(i), 2);
        drawing.shapes.back().dash = i;
      } else {
        drawing.marker({at.x + 5, at.y}, i, false);
      }
    });
  }
  if (!uncounted.empty()) add(uncounted, 14, [&](Position at) { drawing.cross({at.x + 5, at.y}, Ink::text); });
  return drawing;
}

Range find_range(const std::vector<PointRow>& rows) {
  Range values, all;
  for (const PointRow& row : rows) {
    for (const Point& point : row.points) {
      values.add(point.value.value_or(NAN));
      for (const double value : point.uncounted) values.add(value);
      for (const auto& bound : {point.lower, point.upper}) all.add(bound.value_or(NAN));
    }
  }
  if (values.empty()) return values;
  const double reach = std::max(values.high - values.low, std::max(std::abs(values.low), std::abs(values.high)) / 2);
  return {std::min(values.low, std::max(all.low, values.low - reach)),
          std::max(values.high, std::min(all.high, values.high + reach))};
}

double value_column(const std::vector<PointRow>& rows) {
  const bool several = std::any_of(rows.begin(), rows.end(), [](const PointRow& row) { return row.points.size() > 1; });
  double width = 0;
  for (const PointRow& row : rows) {
    for (const Point& point : row.points) width = std::max(width, text_width(point.text, tick_size) * 1.1 + 8);
  }
  return several ? width : 0;
}

Drawing point_chart(const std::vector<PointRow>& rows, const PointAxis& axis, const std::string& description) {
  Drawing drawing;
  drawing.description = description;
  Range range = axis.range;
  for (const Mark& mark : list_marks(axis)) range.add(mark.value);
  const Scale scale{padded(range), side_margin, drawing.width - axis.value_column - side_margin};
  for (const PointRow& row : rows) drawing.height += draw_row(drawing, row, axis, scale, drawing.height);
  drawing.height += draw_x_axis(drawing, scale, drawing.height, drawing.height, axis.title);
  return drawing;
}

}  // namespace ptrain::html

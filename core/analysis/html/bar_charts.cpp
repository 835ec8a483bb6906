// Histograms and bars of shares.
#include "core/analysis/html/chart_axis.h"
#include "core/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain::html {
namespace {

/// Label and value above a bar, from `top` on; returns the height they take.
double draw_head(Drawing& drawing, const std::string& label, const std::string& value, double top) {
  const double room = value.empty() ? 0 : text_width(value, text_size) * 1.15 + 8;
  const std::vector<std::string> lines = wrapped(label, drawing.width - room);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    drawing.text({0, top + 13 + 15 * static_cast<double>(i)}, lines[i], Ink::soft);
  }
  if (!value.empty()) drawing.text({drawing.width, top + 13}, value, Ink::text, Anchor::end);
  return 15 * static_cast<double>(lines.size()) + 3;
}

void draw_histogram(Drawing& drawing, const Sample& sample, const Scale& scale, double top, double height) {
  constexpr std::size_t bins = 72;
  std::vector<double> counts(bins, 0.0);
  for (const double v : sample.values) {
    const double at = (v - scale.range.low) / scale.range.span() * static_cast<double>(bins);
    if (at >= 0 && at <= static_cast<double>(bins)) counts[std::min(bins - 1, static_cast<std::size_t>(at))] += 1;
  }
  const double highest = std::max(1.0, *std::max_element(counts.begin(), counts.end()));
  const double floor = top + height, width = (scale.to - scale.from) / static_cast<double>(bins);
  Shape shape;
  shape.kind = Shape::Kind::polygon;
  shape.fill = Ink::s0;
  shape.points.push_back({scale.from, floor});
  for (std::size_t b = 0; b < bins; ++b) {
    const double edge = scale.from + width * static_cast<double>(b), y = floor - counts[b] / highest * height;
    shape.points.push_back({edge, y});
    shape.points.push_back({edge + width, y});
  }
  shape.points.push_back({scale.to, floor});
  drawing.shapes.push_back(shape);
}

}  // namespace

Drawing distribution_chart(const std::vector<Sample>& samples, const std::string& unit,
                           const std::string& description) {
  constexpr double histogram = 34;
  Drawing drawing;
  drawing.description = description;
  Range range;
  for (const Sample& s : samples) {
    range.add(quantile(s.values, 0.001));
    range.add(quantile(s.values, 0.99));
  }
  const Scale scale{padded(range), 0, drawing.width};
  double top = 0;
  for (const Sample& sample : samples) {
    const double median = quantile(sample.values, 0.5);
    top += draw_head(drawing, sample.label, fmt::format("median {} {}", figure_text(median), unit), top);
    draw_histogram(drawing, sample, scale, top, histogram);
    drawing.line({0, top + histogram}, {drawing.width, top + histogram}, Ink::grid);
    drawing.line({scale.at(median), top}, {scale.at(median), top + histogram}, Ink::text, 1.5);
    top += histogram + 6;
  }
  drawing.height = top + draw_x_axis(drawing, scale, top, top, unit);
  return drawing;
}

Drawing share_chart(const std::vector<ShareRow>& rows, const std::vector<std::string>& names,
                    const std::string& description) {
  constexpr double thickness = 16;
  Drawing drawing;
  drawing.description = description;
  for (const ShareRow& row : rows) {
    double total = 0, at = 0;
    for (const double part : row.parts) total += part;
    drawing.height += draw_head(drawing, row.label, "", drawing.height);
    for (std::size_t k = 0; k < std::min(row.parts.size(), series_inks) && total > 0; ++k) {
      const double width = row.parts[k] / total * drawing.width;
      const std::string tip = fmt::format("{}: {:.1f} %", names.at(k), 100 * row.parts[k] / total);
      if (width > 0) drawing.rect({at, drawing.height}, std::max(0.5, width - 1), thickness, series_ink(k), tip);
      at += width;
    }
    drawing.height += thickness + 6;
  }
  return drawing;
}

}  // namespace ptrain::html

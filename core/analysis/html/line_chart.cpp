// Curves over steps, and op rates under a roofline.
#include "core/analysis/html/chart_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ptrain::html {
namespace {

constexpr double plot_top = 8, plot_bottom = 176;
constexpr std::size_t most_points = 240;  // per curve

/// Draws the band around a series.
void draw_band(Drawing& drawing, const Series& series, const Scale& x, const Scale& y) {
  if (series.lower.empty()) return;
  Shape band;
  band.kind = Shape::Kind::polygon;
  band.fill = series_ink(series.series);
  band.faint = true;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (std::isfinite(series.upper[i])) band.points.push_back({x.at(series.x[i]), y.at(series.upper[i])});
  }
  for (std::size_t i = series.x.size(); i-- > 0;) {
    if (std::isfinite(series.lower[i])) band.points.push_back({x.at(series.x[i]), y.at(series.lower[i])});
  }
  drawing.shapes.push_back(std::move(band));
}

/// Draws a series, interrupted at values that are not finite.
void draw_series(Drawing& drawing, const Series& series, const Scale& x, const Scale& y) {
  Shape part;
  part.stroke = series_ink(series.series);
  part.dash = series.series % series_inks;
  part.size = 2;
  part.tip = series.label;
  const auto finish = [&] {
    if (part.points.size() == 1) drawing.marker(part.points[0], series.series, false, series.label);
    if (part.points.size() > 1) drawing.shapes.push_back(part);
    part.points.clear();
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (std::isfinite(series.y[i])) {
      part.points.push_back({x.at(series.x[i]), y.at(series.y[i])});
    } else {
      finish();
    }
  }
  finish();
}

/// Ticks of a logarithmic range at powers of ten, and at twice and five times these where they are few.
std::vector<double> choose_log_ticks(const Range& range) {
  std::vector<double> values;
  for (const std::vector<double>& factors : {std::vector<double>{1}, {1, 2, 5}}) {
    values.clear();
    for (double power = std::floor(range.low); power <= range.high; ++power) {
      for (const double factor : factors) {
        const double value = power + std::log10(factor);
        if (value >= range.low && value <= range.high) values.push_back(value);
      }
    }
    if (values.size() > 2) break;
  }
  return values;
}

std::string format_rate(double rate) {
  if (rate >= 1e12) return fmt::format("{:.4g}T", rate * 1e-12);
  return rate >= 1e9 ? fmt::format("{:.4g}G", rate * 1e-9) : tick_text(rate);
}

}  // namespace

Series thinned(const Series& all) {
  const std::size_t part = (all.x.size() + most_points - 1) / most_points;
  if (part <= 1) return all;
  Series thin{all.label, {}, {}, all.series};
  for (std::size_t i = 0; i < all.x.size(); i += part) {
    const std::size_t count = std::min(part, all.x.size() - i);
    const auto mean = [&](const std::vector<double>& v) {
      return std::accumulate(v.begin() + static_cast<std::ptrdiff_t>(i),
                             v.begin() + static_cast<std::ptrdiff_t>(i + count), 0.0) /
             static_cast<double>(count);
    };
    thin.x.push_back(mean(all.x));
    thin.y.push_back(mean(all.y));
    if (all.lower.empty()) continue;
    thin.lower.push_back(mean(all.lower));
    thin.upper.push_back(mean(all.upper));
  }
  return thin;
}

Drawing line_chart(const std::vector<Series>& series, const LineAxes& axes, const std::string& description) {
  Range xs = axes.x, ys = axes.y;
  for (const Series& s : series) {
    if (axes.x.empty()) {
      for (const double v : s.x) xs.add(v);
    }
    if (axes.y.empty()) {
      for (const double v : s.y) ys.add(v);
    }
  }
  Drawing drawing;
  drawing.description = description;
  if (ys.empty() || xs.empty()) return drawing;
  const double top = axes.y_title.empty() ? plot_top : plot_top + 16;
  const Scale y{padded(ys), plot_bottom, top};
  double left = 0;
  for (const Tick& tick : ticks(y.range)) left = std::max(left, text_width(tick.text, tick_size) * 1.1 + 6);
  const Scale x{xs, left + 4, drawing.width - 8};
  if (!axes.y_title.empty()) drawing.text({0, 12}, axes.y_title, Ink::mute, Anchor::start, tick_size);
  for (const auto& [value, label] : ticks(y.range)) {
    drawing.line({left, y.at(value)}, {drawing.width, y.at(value)}, Ink::grid);
    drawing.text({left - 4, y.at(value) + 4}, label, Ink::mute, Anchor::end, tick_size);
  }
  const std::vector<Tick> x_ticks = axes.x_names.empty() ? ticks(xs) : name_ticks(axes.x_names, x);
  drawing.height = plot_bottom + draw_x_axis(drawing, x, plot_bottom, plot_bottom, axes.x_title, x_ticks);
  for (const Series& s : series) draw_band(drawing, s, x, y);
  for (const Series& s : series) draw_series(drawing, s, x, y);
  return drawing;
}

Drawing roofline_chart(const std::vector<RooflinePoint>& points, const Roof& roof, const std::string& description) {
  Drawing drawing;
  drawing.description = description;
  Range xs, ys;
  for (const RooflinePoint& point : points) {
    xs.add(std::log10(point.intensity));
    ys.add(std::log10(point.rate));
  }
  if (xs.empty()) return drawing;
  ys.add(std::log10(roof.peak));
  if (roof.bandwidth) xs.add(std::log10(roof.peak / *roof.bandwidth) + 0.3);
  constexpr double top = plot_top + 16, bottom = 240;
  const Scale y{padded(ys), bottom, top};
  const Scale x{padded(xs), 44, drawing.width - 8};
  drawing.text({0, 12}, "FLOP/s", Ink::mute, Anchor::start, tick_size);
  for (const double v : choose_log_ticks(y.range)) {
    drawing.line({44, y.at(v)}, {drawing.width, y.at(v)}, Ink::grid);
    drawing.text({40, y.at(v) + 4}, format_rate(std::pow(10, v)), Ink::mute, Anchor::end, tick_size);
  }
  for (const double v : choose_log_ticks(x.range)) {
    drawing.line({x.at(v), top}, {x.at(v), bottom}, Ink::grid);
    drawing.text({x.at(v), bottom + 14}, fmt::format("{:.3g}", std::pow(10, v)), Ink::mute, Anchor::middle, tick_size);
  }
  drawing.text({x.to, bottom + 28}, "FLOP per byte moved", Ink::mute, Anchor::end, tick_size);
  const double peak = std::log10(roof.peak);
  const double knee = roof.bandwidth ? peak - std::log10(*roof.bandwidth) : x.range.low;
  drawing.line({x.at(std::max(knee, x.range.low)), y.at(peak)}, {x.to, y.at(peak)}, Ink::soft, 1.5);
  if (roof.bandwidth && knee > x.range.low) {
    const double from = std::max(x.range.low, y.range.low - std::log10(*roof.bandwidth));
    drawing.line({x.at(from), y.at(from + std::log10(*roof.bandwidth))}, {x.at(knee), y.at(peak)}, Ink::soft, 1.5);
  }
  for (std::size_t i = points.size(); i-- > 0;) {
    const Position at{x.at(std::log10(points[i].intensity)), y.at(std::log10(points[i].rate))};
    drawing.marker(at, std::min(i, series_inks - 1), false, points[i].label);
  }
  drawing.height = bottom + 33;
  return drawing;
}

}  // namespace ptrain::html

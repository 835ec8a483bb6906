#include "core/analysis/html/charts.h"

#include "core/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptrain::html {
namespace {

constexpr double kWidth = 360;
constexpr std::size_t kColours = 8;

std::string svg(double height, const std::string& description, const std::string& content) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">{}</svg>\n", kWidth, height,
                     escaped(description), content);
}

std::string text_at(double x, double y, const std::string& text, const char* classes) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>", x, y, classes, escaped(text));
}

std::string line_at(double x1, double y1, double x2, double y2, const char* classes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>", x1, y1, x2, y2,
                     classes);
}

/// As many characters as fit `width` units of small text.
std::string cut(const std::string& text, double width) {
  const auto most = static_cast<std::size_t>(width / 6.2);
  return text.size() <= most ? text : fmt::format("{}…", text.substr(0, most - 1));
}

/// About four round steps over a range.
std::vector<double> ticks(double low, double high) {
  const double raw = std::max(high - low, 1e-12) / 4;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= raw) step = factor * power;
  }
  std::vector<double> values;
  for (double v = std::ceil(low / step) * step; v <= high + step * 1e-6; v += step) values.push_back(v);
  return values;
}

std::string tick_text(double value) { return fmt::format("{:g}", std::abs(value) < 1e-12 ? 0.0 : value); }

std::string legend(const std::vector<std::string>& labels) {
  std::string items;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    items += fmt::format("<li><i class=\"c{}\"></i>{}</li>", i % kColours, escaped(labels[i]));
  }
  return fmt::format("<ul class=\"legend\">{}</ul>\n", items);
}

struct Range {
  double low = INFINITY, high = -INFINITY;
  void add(double v) {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  double span() const { return std::max(high - low, 1e-12); }
};

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string bar_chart(const std::vector<Bar>& bars, const std::string& description) {
  constexpr double row = 38, thickness = 12;
  Range range;
  range.add(0);
  for (const Bar& bar : bars) range.add(std::max(bar.value, bar.upper.value_or(bar.value)));
  std::string content;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double top = row * static_cast<double>(i);
    const auto x = [&](double v) { return v / range.span() * (kWidth - 2); };
    content +=
        "<g>" + text_at(0, top + 13, cut(bar.label, kWidth - 7.0 * static_cast<double>(bar.text.size())), "label");
    content += text_at(kWidth, top + 13, bar.text, "value");
    content += fmt::format("<rect x=\"0\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"3\" class=\"bar\"/>",
                           top + 18, std::max(1.0, x(bar.value)), thickness);
    if (bar.lower && bar.upper) {
      const double middle = top + 18 + thickness / 2;
      content += line_at(x(*bar.lower), middle, x(*bar.upper), middle, "whisker");
      content += line_at(x(*bar.lower), middle - 4, x(*bar.lower), middle + 4, "whisker");
      content += line_at(x(*bar.upper), middle - 4, x(*bar.upper), middle + 4, "whisker");
    }
    content += fmt::format("<title>{}: {}</title></g>", escaped(bar.label), escaped(bar.text));
  }
  return svg(row * static_cast<double>(bars.size()), description, content);
}

std::string line_chart(const std::vector<Series>& series, const std::string& x_title, const std::string& description) {
  constexpr double left = 38, top = 8, bottom = 172, height = 200;
  Range xs, ys;
  for (const Series& s : series) {
    for (const double v : s.x) xs.add(v);
    for (const double v : s.y) ys.add(v);
  }
  if (!(ys.low <= ys.high)) return "";
  const double pad = ys.span() * 0.05;
  const auto x = [&](double v) { return left + (v - xs.low) / xs.span() * (kWidth - left - 6); };
  const auto y = [&](double v) { return bottom - (v - ys.low + pad) / (ys.span() + 2 * pad) * (bottom - top); };
  std::string content;
  for (const double v : ticks(ys.low, ys.high)) {
    content += line_at(left, y(v), kWidth, y(v), "grid") + text_at(left - 5, y(v) + 4, tick_text(v), "tick end");
  }
  for (const double v : ticks(xs.low, xs.high)) content += text_at(x(v), bottom + 14, tick_text(v), "tick middle");
  content += text_at(kWidth, bottom + 27, x_title, "tick end");
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < std::min(series.size(), kColours); ++i) {
    std::string points;
    for (std::size_t k = 0; k < series[i].x.size(); ++k) {
      if (std::isfinite(series[i].y[k])) points += fmt::format("{:.1f},{:.1f} ", x(series[i].x[k]), y(series[i].y[k]));
    }
    content += fmt::format("<polyline points=\"{}\" class=\"line s{}\"><title>{}</title></polyline>", points, i,
                           escaped(series[i].label));
    if (series[i].x.size() == 1) {
      content += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" class=\"f{}\"/>", x(series[i].x[0]),
                             y(series[i].y[0]), i);
    }
    labels.push_back(series[i].label);
  }
  return (labels.size() > 1 ? legend(labels) : "") + svg(height, description, content);
}

std::string distribution_chart(const std::vector<Sample>& samples, const std::string& unit,
                               const std::string& description) {
  constexpr double row = 58, histogram = 34;
  constexpr std::size_t bins = 72;
  Range range;
  for (const Sample& s : samples) {
    range.add(quantile(s.values, 0.001));
    range.add(quantile(s.values, 0.99));
  }
  const auto x = [&](double v) { return (v - range.low) / range.span() * kWidth; };
  std::string content;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double top = row * static_cast<double>(i), floor = top + 18 + histogram;
    std::vector<double> counts(bins, 0.0);
    for (const double v : samples[i].values) {
      const double at = (v - range.low) / range.span() * static_cast<double>(bins);
      if (at >= 0 && at <= static_cast<double>(bins)) counts[std::min(bins - 1, static_cast<std::size_t>(at))] += 1;
    }
    const double highest = std::max(1.0, *std::max_element(counts.begin(), counts.end()));
    std::string path = fmt::format("M0 {:.1f}", floor);
    for (std::size_t b = 0; b < bins; ++b) {
      const double edge = kWidth * static_cast<double>(b) / static_cast<double>(bins);
      path += fmt::format("L{:.1f} {:.1f}h{:.1f}", edge, floor - counts[b] / highest * histogram,
                          kWidth / static_cast<double>(bins));
    }
    const double median = quantile(samples[i].values, 0.5);
    const std::string value = fmt::format("median {:.4g} {}", median, unit);
    content += text_at(0, top + 13, cut(samples[i].label, kWidth - 7.0 * static_cast<double>(value.size())), "label");
    content += text_at(kWidth, top + 13, value, "value");
    content += fmt::format("<path d=\"{}L{:.0f} {:.1f}Z\" class=\"bar\"/>", path, kWidth, floor);
    content += line_at(0, floor, kWidth, floor, "grid") + line_at(x(median), top + 18, x(median), floor, "whisker");
  }
  const double bottom = row * static_cast<double>(samples.size());
  for (const double v : ticks(range.low, range.high)) {
    const double at = std::clamp(x(v), 8.0, kWidth - 8);
    content += text_at(at, bottom + 10, tick_text(v), "tick middle");
  }
  return svg(bottom + 16, description, content);
}

std::string share_chart(const std::vector<ShareRow>& rows, const std::string& description) {
  constexpr double row = 40, thickness = 16;
  std::string content;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double top = row * static_cast<double>(i);
    double total = 0, at = 0;
    for (const Share& part : rows[i].parts) total += part.value;
    content += text_at(0, top + 13, cut(rows[i].label, kWidth), "label");
    for (std::size_t k = 0; k < std::min(rows[i].parts.size(), kColours); ++k) {
      const Share& part = rows[i].parts[k];
      const double width = part.value / std::max(total, 1e-12) * kWidth;
      content += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" class=\"f{}\"><title>{}: {:.1f} "
          "%</title></rect>",
          at, top + 18, std::max(0.0, width - 2), thickness, k, escaped(part.label), 100 * part.value / total);
      at += width;
      if (i == 0) labels.push_back(part.label);
    }
  }
  return legend(labels) + svg(row * static_cast<double>(rows.size()), description, content);
}

}  // namespace ptrain::html

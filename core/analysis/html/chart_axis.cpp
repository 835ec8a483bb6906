#include "core/analysis/html/chart_axis.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain::html {

void Range::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void Range::add(const Range& other) {
  add(other.low);
  add(other.high);
}

Range padded(const Range& range) {
  const double rest = range.high > range.low ? range.span() / 20 : std::max(std::abs(range.high) / 20, 1e-9);
  return {range.low - rest, range.high + rest};
}

std::vector<Tick> ticks(const Range& range) {
  const double raw = range.span() / 4;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= raw) step = factor * power;
  }
  // Neighbours may differ in a digit far after the first.
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  const int digits =
      std::clamp(static_cast<int>(std::floor(std::log10(largest)) - std::floor(std::log10(step))) + 1, 4, 9);
  std::vector<Tick> all;
  for (double i = std::ceil(range.low / step); i * step <= range.high + step * 1e-6; ++i) {
    all.push_back({i * step, tick_text(i * step, digits)});
  }
  return all;
}

std::string tick_text(double value, int digits) {
  const double size = std::abs(value);
  if (size < 1e-12) return "0";
  if (size >= 1e4 && size < 1e6) return fmt::format("{:.{}g}k", value * 1e-3, std::max(digits, 6));
  if (size >= 1e6 && size < 1e9) return fmt::format("{:.{}g}M", value * 1e-6, std::max(digits, 6));
  return fmt::format("{:.{}g}", value, digits);
}

std::string figure_text(double value) {
  return std::abs(value) >= 1e4 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::vector<Tick> name_ticks(const std::vector<std::string>& names, const Scale& scale) {
  double widest = 1;
  for (const std::string& name : names) widest = std::max(widest, text_width(name, tick_size) + 12);
  const auto places = static_cast<std::size_t>(std::max(1.0, (scale.to - scale.from) / widest));
  const std::size_t step = std::max<std::size_t>(1, (names.size() + places - 1) / places);
  std::vector<Tick> all;
  for (std::size_t i = 0; i < names.size(); i += step) all.push_back({static_cast<double>(i), names[i]});
  return all;
}

double draw_x_axis(Drawing& drawing, const Scale& scale, double top, double bottom, const std::string& title) {
  return draw_x_axis(drawing, scale, top, bottom, title, ticks(scale.range));
}

double draw_x_axis(Drawing& drawing, const Scale& scale, double top, double bottom, const std::string& title,
                   const std::vector<Tick>& ticks) {
  for (const auto& [value, label] : ticks) {
    const double half = text_width(label, tick_size) / 2 + 2;
    drawing.line({scale.at(value), top}, {scale.at(value), bottom}, Ink::grid);
    drawing.text({std::clamp(scale.at(value), half, drawing.width - half), bottom + 14}, label, Ink::mute,
                 Anchor::middle, tick_size);
  }
  if (title.empty()) return 18;
  drawing.text({scale.to, bottom + 28}, title, Ink::mute, Anchor::end, tick_size);
  return 33;
}

}  // namespace ptrain::html

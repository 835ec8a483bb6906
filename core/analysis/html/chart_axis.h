// Scales of charts and their ticks.
#pragma once

#include "core/analysis/html/charts.h"

#include <string>
#include <vector>

namespace ptrain::html {

/// Maps a range of values to a range of positions in a drawing.
struct Scale {
  Range range;
  double from = 0, to = 0;

  double at(double value) const { return from + (value - range.low) / range.span() * (to - from); }
};

/// `range` extended by a twentieth of its span on both sides.
Range padded(const Range& range);
struct Tick {
  double value;
  std::string text;
};
/// About four round values in a range; no two have the same text.
std::vector<Tick> ticks(const Range& range);
/// "12", "1.5k", "2M"
std::string tick_text(double value, int digits = 4);
/// Of a measured value: four digits, more above 10,000.
std::string figure_text(double value);

/// The names of the whole numbers from 0 on, as many as fit side by side on the scale.
std::vector<Tick> name_ticks(const std::vector<std::string>& names, const Scale& scale);
/// Draws ticks with grid lines from `top` to `bottom` and the axis's title below; returns the height it takes.
double draw_x_axis(Drawing& drawing, const Scale& scale, double top, double bottom, const std::string& title);
double draw_x_axis(Drawing& drawing, const Scale& scale, double top, double bottom, const std::string& title,
                   const std::vector<Tick>& ticks);

}  // namespace ptrain::html

// Charts as drawings, each 360 units wide: several fit side by side on a screen, one fills a phone.
#pragma once

#include "core/analysis/html/drawing.h"
#include "core/analysis/op_times.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace ptrain::html {

/// Values that an axis spans; charts to be compared share one.
struct Range {
  double low = INFINITY, high = -INFINITY;

  void add(double value);
  void add(const Range& other);
  bool empty() const { return !(low <= high); }
  double span() const { return high > low ? high - low : 1; }
};

/// Legend of series with markers, or with lines and dashes; `uncounted` explains the crosses.
enum class LegendOf { points, lines };
Drawing legend(const std::vector<std::string>& names, LegendOf kind, const std::string& uncounted = "");

struct Point {
  std::optional<double> value;  // none: crosses only
  std::optional<double> lower, upper;
  std::size_t series = 0;
  bool hollow = false;
  std::string text;               // the value as shown
  std::vector<double> uncounted;  // drawn as crosses
  std::string tip;
};
struct PointRow {
  std::string label;
  std::vector<Point> points;  // drawn one below the other; none: the label is a heading
};
struct PointAxis {
  Range range;
  std::string title;
  std::optional<double> reference;       // a reference value to mark, such as no effect
  std::optional<double> tolerance = {};  // marked on both sides of the reference
  double value_column = 0;               // see value_column()
};
/// Width of the column of values next to the points; 0 where no row has several points: values then follow the labels.
double value_column(const std::vector<PointRow>& rows);
/// The range of all values and crosses, plus intervals where they do not dominate: with two runs an interval may be a
/// thousand times as wide as the differences.
Range find_range(const std::vector<PointRow>& rows);
/// Points with their intervals, in labelled rows over one axis (a forest plot). Intervals that leave the range end in
/// arrows.
Drawing point_chart(const std::vector<PointRow>& rows, const PointAxis& axis, const std::string& description);

struct Series {
  std::string label;
  std::vector<double> x, y;
  std::size_t series = 0;                      // selects colour and dashes
  std::vector<double> lower = {}, upper = {};  // of a band around y; empty: none
};
struct LineAxes {
  std::string x_title, y_title;
  Range x, y;                             // empty: the range of the series
  std::vector<std::string> x_names = {};  // of the whole numbers from 0 on, in place of them
};
/// Lines over a common grid; a series of one value is a point. Values that are not finite interrupt a line.
Drawing line_chart(const std::vector<Series>& series, const LineAxes& axes, const std::string& description);
/// Means of neighbouring points, so that a long curve stays small.
Series thinned(const Series& all);

struct Sample {
  std::string label;
  std::vector<double> values;
};
/// One histogram per sample over a common axis, its median marked.
Drawing distribution_chart(const std::vector<Sample>& samples, const std::string& unit, const std::string& description);

struct ShareRow {
  std::string label;
  std::vector<double> parts;  // of the same names in every row, at most eight
};
/// One stacked bar per row.
Drawing share_chart(const std::vector<ShareRow>& rows, const std::vector<std::string>& names,
                    const std::string& description);

struct RooflinePoint {
  std::string label;
  double intensity = 0;  // operations per byte
  double rate = 0;       // operations per second
};
/// Rates over intensities, both logarithmic, with the roofline; series by order, those after the eighth share a style.
Drawing roofline_chart(const std::vector<RooflinePoint>& points, const Roof& roof, const std::string& description);

}  // namespace ptrain::html

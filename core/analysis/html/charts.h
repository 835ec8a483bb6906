// Charts as inline SVG, 360 units wide so that their text stays readable on a phone; colours come from the page's CSS.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ptrain::html {

/// `text` with the characters that HTML gives a meaning replaced.
std::string escaped(const std::string& text);

struct Bar {
  std::string label;
  std::string text;  // the value as told
  double value = 0;
  std::optional<double> lower, upper;  // interval
};
/// Horizontal bars from zero, each with its label and value above it and a whisker for its interval.
std::string bar_chart(const std::vector<Bar>& bars, const std::string& description);

struct Series {
  std::string label;
  std::vector<double> x, y;
};
/// Lines over a common grid, with a legend when there is more than one (at most eight are drawn).
std::string line_chart(const std::vector<Series>& series, const std::string& x_title, const std::string& description);

struct Sample {
  std::string label;
  std::vector<double> values;
};
/// One histogram per sample over a common axis, its median marked.
std::string distribution_chart(const std::vector<Sample>& samples, const std::string& unit,
                               const std::string& description);

struct Share {
  std::string label;
  double value = 0;
};
struct ShareRow {
  std::string label;
  std::vector<Share> parts;  // the same labels in the same order in every row
};
/// One bar of parts that fill it per row, with a legend (at most eight parts).
std::string share_chart(const std::vector<ShareRow>& rows, const std::string& description);

}  // namespace ptrain::html

#include "core/analysis/html/drawing.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ptrain::html {
namespace {

/// Widths of the characters from space to tilde in thousandths of the font size (Adobe's metrics of Helvetica).
constexpr std::array<short, 95> glyph_widths = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr double wider_fonts = 1.2;
constexpr double marker_radius = 4.5;

/// Corners of a series' marker around the origin; empty: a circle.
std::vector<Position> make_marker(std::size_t series) {
  const double r = marker_radius;
  switch (series % series_inks) {
    case 1:
      return {{-r * 0.85, -r * 0.85}, {r * 0.85, -r * 0.85}, {r * 0.85, r * 0.85}, {-r * 0.85, r * 0.85}};
    case 2:
      return {{0, -r * 1.15}, {r * 1.1, r * 0.8}, {-r * 1.1, r * 0.8}};
    case 3:
      return {{0, -r * 1.25}, {r * 1.25, 0}, {0, r * 1.25}, {-r * 1.25, 0}};
    case 4:
      return {{0, r * 1.15}, {r * 1.1, -r * 0.8}, {-r * 1.1, -r * 0.8}};
    case 5:
      return {{-r, 0}, {r, -r * 1.1}, {r, r * 1.1}};
    case 6:
      return {{r, 0}, {-r, -r * 1.1}, {-r, r * 1.1}};
    case 7: {
      std::vector<Position> star;
      for (int i = 0; i < 10; ++i) {
        const double at = std::numbers::pi * (i / 5.0 - 0.5), reach = i % 2 == 0 ? r * 1.3 : r * 0.6;
        star.push_back({reach * std::cos(at), reach * std::sin(at)});
      }
      return star;
    }
    default:
      return {};
  }
}

}  // namespace

std::vector<double> dash_pattern(std::size_t dash) {
  static const std::vector<std::vector<double>> patterns = {{},      {6, 3},       {2, 2}, {8, 3, 2, 3},
                                                            {10, 3}, {4, 2, 1, 2}, {1, 3}, {6, 2, 6, 2, 1, 2}};
  return patterns[dash % patterns.size()];
}

void Drawing::line(Position from, Position to, Ink ink, double thickness) {
  Shape& shape = shapes.emplace_back();
  shape.points = {from, to};
  shape.stroke = ink;
  shape.size = thickness;
}

void Drawing::rect(Position corner, double rect_width, double rect_height, Ink fill, const std::string& tip) {
  Shape& shape = shapes.emplace_back();
  shape.kind = Shape::Kind::polygon;
  const auto [x, y] = corner;
  shape.points = {{x, y}, {x + rect_width, y}, {x + rect_width, y + rect_height}, {x, y + rect_height}};
  shape.fill = fill;
  shape.tip = tip;
}

void Drawing::marker(Position at, std::size_t series, bool hollow, const std::string& tip) {
  Shape& shape = shapes.emplace_back();
  shape.points = make_marker(series);
  shape.kind = shape.points.empty() ? Shape::Kind::circle : Shape::Kind::polygon;
  if (shape.points.empty()) shape.points = {{0, 0}};
  for (Position& point : shape.points) point = {point.x + at.x, point.y + at.y};
  shape.radius = marker_radius;
  shape.fill = hollow ? Ink::card : series_ink(series);
  shape.stroke = series_ink(series);
  shape.size = 1.5;
  shape.tip = tip;
}

void Drawing::cross(Position at, Ink ink, const std::string& tip) {
  constexpr double r = 3.5;
  for (const double way : {1.0, -1.0}) {
    line({at.x - r, at.y - way * r}, {at.x + r, at.y + way * r}, ink, 1.5);
    shapes.back().tip = tip;
  }
}

void Drawing::text(Position at, const std::string& content, Ink ink, Anchor anchor, double size) {
  Shape& shape = shapes.emplace_back();
  shape.kind = Shape::Kind::text;
  shape.points = {at};
  shape.content = content;
  shape.fill = ink;
  shape.anchor = anchor;
  shape.size = size;
}

void Drawing::place(const Drawing& other, Position at) {
  for (Shape shape : other.shapes) {
    for (Position& point : shape.points) point = {point.x + at.x, point.y + at.y};
    shapes.push_back(std::move(shape));
  }
  width = std::max(width, at.x + other.width);
  height = std::max(height, at.y + other.height);
}

std::size_t character_bytes(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
  return end - at;
}

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  for (std::size_t at = 0; at < text.size(); at += character_bytes(text, at)) {
    const auto c = static_cast<unsigned char>(text[at]);
    width += c >= 32 && c < 127 ? glyph_widths[c - 32U] : 600;
  }
  return width * 1e-3 * size * (bold ? 1.06 : 1.0);
}

std::vector<std::string> wrapped(const std::string& text, double width, double size) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t last_break = 0;  // in line, after the last character that a line may end with
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    line += text.substr(at, bytes);
    at += bytes;
    if (text_width(line, size) * wider_fonts > width && line.size() > bytes) {
      const std::size_t end = last_break > 0 ? last_break : line.size() - bytes;
      lines.push_back(line.substr(0, end));
      if (lines.back().ends_with(' ')) lines.back().pop_back();
      line.erase(0, end);
      last_break = 0;
    }
    const bool within_change = line.ends_with("-> ") || text.compare(at, 2, "->") == 0;
    if ((line.ends_with(' ') && !within_change) || line.ends_with(',')) last_break = line.size();
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

}  // namespace ptrain::html

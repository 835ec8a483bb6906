// A drawing: shapes in named inks, from which SVG and PDF are written. Units are CSS pixels, y grows downwards.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain::html {

/// Colours of series, distinct for the colour-blind too (after Okabe and Ito), and of backgrounds, text and grid.
enum class Ink { s0, s1, s2, s3, s4, s5, s6, s7, text, soft, mute, grid, card, none };

struct InkColour {
  const char* name;  // of the style sheet's variable
  const char* light;
  const char* dark;
};
/// By Ink; none has no colour.
constexpr std::array<InkColour, 13> ink_colours = {{{"s0", "#0072b2", "#4aa8e0"},
                                                    {"s1", "#d55e00", "#ec7d3c"},
                                                    {"s2", "#009e73", "#2fc097"},
                                                    {"s3", "#c08000", "#e6ac2e"},
                                                    {"s4", "#c0649a", "#dd96c0"},
                                                    {"s5", "#3a9bd6", "#8fd0f5"},
                                                    {"s6", "#332288", "#aca2f2"},
                                                    {"s7", "#6b6b6b", "#b4b4b0"},
                                                    {"text", "#0b0b0b", "#ffffff"},
                                                    {"soft", "#4c4b48", "#c9c8bd"},
                                                    {"mute", "#6f6d68", "#a19f98"},
                                                    {"grid", "#dddcd5", "#3a3a37"},
                                                    {"card", "#fcfcfb", "#1a1a19"}}};
constexpr std::size_t series_inks = 8;
constexpr Ink series_ink(std::size_t series) { return static_cast<Ink>(series % series_inks); }

struct Position {
  double x = 0, y = 0;
};

enum class Anchor { start, middle, end };

struct Shape {
  enum class Kind { polyline, polygon, circle, text };
  Kind kind = Kind::polyline;
  std::vector<Position> points;  // circle: the centre; text: the anchor of its baseline
  Ink fill = Ink::none, stroke = Ink::none;
  double size = 1;       // stroke width, or font size
  double radius = 0;     // of a circle
  std::size_t dash = 0;  // pattern of a polyline, see dash_pattern()
  std::string content;   // of a text
  Anchor anchor = Anchor::start;
  bool bold = false;
  bool faint = false;  // a fill through which the grid shows
  std::string tip;     // tooltip
};

/// Lengths of dashes and gaps; empty: a solid line.
std::vector<double> dash_pattern(std::size_t dash);

constexpr double text_size = 12, tick_size = 11;

struct Drawing {
  double width = 360;  // so that text stays readable on a phone
  double height = 0;
  std::string description;  // text alternative
  std::vector<Shape> shapes;

  bool empty() const { return shapes.empty(); }
  void line(Position from, Position to, Ink ink, double thickness = 1);
  void rect(Position corner, double rect_width, double rect_height, Ink fill, const std::string& tip = "");
  /// Draws a different shape for each series, so that colour is not the only distinction.
  void marker(Position at, std::size_t series, bool hollow, const std::string& tip = "");
  void cross(Position at, Ink ink, const std::string& tip = "");
  void text(Position at, const std::string& content, Ink ink = Ink::text, Anchor anchor = Anchor::start,
            double size = text_size);
  /// Adds all shapes of `other`, moved.
  void place(const Drawing& other, Position at);
};

/// Width of one line in Helvetica.
double text_width(std::string_view text, double size, bool bold = false);
/// Breaks text into lines of at most `width` (with a reserve for wider fonts), at spaces (but not within a change, "O0
/// -> O1") and commas, else anywhere.
std::vector<std::string> wrapped(const std::string& text, double width, double size = text_size);
/// Number of bytes of the character that begins at `at`.
std::size_t character_bytes(std::string_view text, std::size_t at);

}  // namespace ptrain::html

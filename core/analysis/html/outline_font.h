// Outlines of the characters of a TrueType font, so that text in figures needs no font where it is read.
#pragma once

#include "core/analysis/html/drawing.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain::html {

class OutlineFont {
 public:
  /// Throws Error{failed} for a file that is no TrueType font, or is damaged.
  explicit OutlineFont(const std::filesystem::path& file);

  /// The first of the sans-serif fonts that Linux distributions have; absent: none of them is installed.
  static std::optional<OutlineFont> find(bool bold);

  /// A closed curve of quadratic splines: points in units of an em, y upwards, on it or (control points) beside it.
  struct OutlinePoint {
    Position at;
    bool on_curve = true;
  };
  using Contour = std::vector<OutlinePoint>;
  /// The outline of one line of text that begins at the origin. Characters that the font lacks are its box for them.
  std::vector<Contour> outline(std::string_view text) const;
  /// Width of that line in em.
  double width(std::string_view text) const;

 private:
  std::size_t find_table(const char* tag) const;
  std::uint32_t read(std::size_t at, std::size_t bytes) const;
  std::int32_t read_signed(std::size_t at) const { return static_cast<std::int16_t>(read(at, 2)); }
  std::size_t find_characters() const;
  std::uint32_t find_glyph(std::uint32_t character) const;
  double advance(std::uint32_t glyph) const;
  std::vector<Contour> read_glyph(std::uint32_t glyph, int depth) const;
  std::vector<Contour> read_simple(std::size_t at, std::size_t contours) const;
  std::vector<Contour> read_composite(std::size_t at, int depth) const;

  std::string bytes_;
  std::string name_;
  double em_ = 1000;                                                        // units
  std::size_t characters_ = 0, locations_ = 0, glyphs_ = 0, advances_ = 0;  // offsets of tables
  std::size_t glyph_count_ = 0, advance_count_ = 0;
  bool long_locations_ = false;
};

}  // namespace ptrain::html

// Text in pictures: a bitmap font of ASCII's characters, each 5 px wide and 9 px high, of which 2 px are below the
// line.
#pragma once

#include "core/data/image/class_colours.h"

#include <string_view>

namespace ptrain {

/// An image to draw on: pixels [height, width, 3]. What is outside it is left out.
struct Canvas {
  std::span<std::uint8_t> pixels;
  int width = 0, height = 0;

  void fill(int left, int top, int right, int bottom, const Colour& colour) const;  // right and bottom exclusive
};

inline constexpr int letter_width = 6, letter_height = 9;  // px, with the gap to the next letter

/// The number of letters that draw_text draws: one per character of UTF-8.
int count_letters(std::string_view text);

/// Draws text whose upper left corner is (left, top), each pixel of a letter as `scale` x `scale` px. Characters
/// outside ASCII are question marks.
void draw_text(const Canvas& canvas, std::string_view text, int left, int top, int scale, const Colour& colour);

}  // namespace ptrain

// Letters as the pixels that they set.
#include "core/data/image/bitmap_font.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ptrain {
namespace bitmap_font_test {

/// Rows of an image that text is drawn on from (left, top): # where there is ink.
std::vector<std::string> draw(std::string_view text, int width, int height, int left = 0, int top = 0, int scale = 1) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(3 * width * height));
  draw_text({pixels, width, height}, text, left, top, scale, {1, 2, 3});
  std::vector<std::string> rows;
  for (int y = 0; y < height; ++y) {
    std::string& row = rows.emplace_back();
    for (int x = 0; x < width; ++x) row += pixels[static_cast<std::size_t>(3 * (y * width + x) + 2)] == 3 ? '#' : '.';
  }
  return rows;
}

TEST(BitmapFont, DrawsLettersAboveAndBelowTheLine) {
  EXPECT_EQ(draw("Ty", 11, 9),
            (std::vector<std::string>{"#####......", "..#........", "..#...#...#", "..#...#...#", "..#...#...#",
                                      "..#...#...#", "..#....####", "..........#", ".......###."}));
}

TEST(BitmapFont, LeavesOutWhatIsOutside) {
  EXPECT_EQ(draw("TT", 6, 3, -4, -1), (std::vector<std::string>{"....#.", "....#.", "....#."}));
}

TEST(BitmapFont, HasAQuestionMarkForEachOtherCharacter) {
  EXPECT_EQ(draw("細胞", 12, 9), draw("??", 12, 9));
  EXPECT_EQ(count_letters("細胞 1"), 4);
}

TEST(BitmapFont, ScalesLetters) {
  EXPECT_EQ(draw("-", 10, 8, 0, 0, 2),
            (std::vector<std::string>{"..........", "..........", "..........", "..........", "..........",
                                      "..........", "##########", "##########"}));
}

}  // namespace bitmap_font_test
}  // namespace ptrain

#include "core/data/image/random_erasing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain {
namespace {

constexpr std::array<std::uint8_t, 3> blank{10, 20, 30};

std::vector<std::uint8_t> erased(int size, float probability, std::int64_t index) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size * size) * 3, 255);
  erase_randomly(pixels, size, probability, blank, {1, 2, index, DataStream::erase});
  return pixels;
}

TEST(RandomErasing, BlanksOneRectangleOfTheAskedShareOfImages) {
  int touched = 0;
  double mean_area = 0;
  for (int i = 0; i < 2000; ++i) {
    const int size = 32;
    const std::vector<std::uint8_t> pixels = erased(size, 0.25f, i);
    int left = size, right = -1, top = size, bottom = -1, blanked = 0;
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        const auto* pixel = &pixels[static_cast<std::size_t>(3 * (y * size + x))];
        if (!std::equal(blank.begin(), blank.end(), pixel)) continue;
        ++blanked, left = std::min(left, x), right = std::max(right, x), top = std::min(top, y),
                   bottom = std::max(bottom, y);
      }
    }
    if (blanked == 0) continue;
    ++touched;
    mean_area += blanked / 1024.0;
    EXPECT_EQ(blanked, (right - left + 1) * (bottom - top + 1)) << "one rectangle";
    EXPECT_LE(blanked, 0.36 * 1024);
    EXPECT_GE(blanked, 0.01 * 1024);
  }
  EXPECT_NEAR(touched, 500, 60);
  EXPECT_NEAR(mean_area / touched, 0.17, 0.02);
}

TEST(RandomErasing, ReachesEveryPartOfImagesThatAreNoSquares) {
  constexpr std::size_t height = 12, width = 40;
  std::vector<int> blanked(height * width);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint8_t> pixels(height * width * 3, 255);
    erase_randomly(pixels, {height, width}, 1, blank, {1, 2, i, DataStream::erase});
    std::size_t left = width, right = 0, top = height, bottom = 0, count = 0;
    for (std::size_t at = 0; at < height * width; ++at) {
      if (pixels[3 * at] != blank[0]) continue;
      ++blanked[at], ++count;
      left = std::min(left, at % width), right = std::max(right, at % width);
      top = std::min(top, at / width), bottom = std::max(bottom, at / width);
    }
    if (count == 0) continue;
    ASSERT_EQ(count, (right - left + 1) * (bottom - top + 1)) << "one rectangle";
  }
  for (const std::size_t corner : {std::size_t{0}, width - 1, (height - 1) * width, height * width - 1}) {
    EXPECT_GT(blanked[corner], 0);
  }
}

TEST(RandomErasing, LeavesImagesAloneThatItIsNotAskedFor) {
  const std::vector<std::uint8_t> pixels = erased(16, 0, 3);
  EXPECT_EQ(std::count(pixels.begin(), pixels.end(), 255), 16 * 16 * 3);
}

TEST(RandomErasing, IsTheSameForTheSameSample) { EXPECT_EQ(erased(24, 1, 7), erased(24, 1, 7)); }

TEST(RandomErasing, TakesTheMeanPixel) {
  DatasetInfo info;
  info.mean = {0.5f, 0, 1};
  EXPECT_EQ(mean_colour(info), (std::array<std::uint8_t, 3>{128, 0, 255}));
}

}  // namespace
}  // namespace ptrain

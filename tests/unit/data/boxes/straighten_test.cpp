// Lines of text are cut out of images upright: corners, places and pixels.
#include "core/data/image/straighten.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ptrain {
namespace {

/// Red grows by 2 a pixel to the right, green by 3 a pixel down.
struct Slope {
  int width, height;
  std::vector<std::uint8_t> pixels;

  Slope(int columns, int rows) : width(columns), height(rows) {
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        pixels.insert(pixels.end(), {static_cast<std::uint8_t>(2 * x), static_cast<std::uint8_t>(3 * y), 7});
      }
    }
  }
  DecodedImage view() const { return {width, height, {pixels.data(), static_cast<std::size_t>(width) * 3, 0, 0}}; }
};

/// The place in the slope whose colour a pixel has, by the centres of pixels.
Point2d find_place(const CutImage& cut, int x, int y) {
  const std::size_t at =
      (static_cast<std::size_t>(y) * static_cast<std::size_t>(cut.width) + static_cast<std::size_t>(x)) * 3;
  EXPECT_EQ(cut.pixels[at + 2], 7);
  return {cut.pixels[at] / 2.0 + 0.5, cut.pixels[at + 1] / 3.0 + 0.5};
}

void expect_near(Point2d found, Point2d expected, double tolerance) {
  EXPECT_NEAR(found.x, expected.x, tolerance);
  EXPECT_NEAR(found.y, expected.y, tolerance);
}

TEST(OrderCorners, BeginsAtTheUpperLeftAndGoesClockwise) {
  const Quad expected{{{10, 5}, {50, 8}, {48, 30}, {9, 28}}};
  for (std::size_t first = 0; first < 4; ++first) {
    Quad turned{}, mirrored{};
    for (std::size_t i = 0; i < 4; ++i) {
      turned[i] = expected[(first + i) % 4];
      mirrored[i] = expected[(first + 4 - i) % 4];
    }
    EXPECT_EQ(order_corners(turned), expected);
    EXPECT_EQ(order_corners(mirrored), expected);
  }
}

TEST(Perspective, MapsCornersToCornersAndCrossingsToCrossings) {
  const Quad quad{{{10, 20}, {110, 5}, {90, 80}, {15, 60}}};
  const Perspective place(quad);
  expect_near(place({0, 0}), quad[0], 1e-9);
  expect_near(place({1, 0}), quad[1], 1e-9);
  expect_near(place({1, 1}), quad[2], 1e-9);
  expect_near(place({0, 1}), quad[3], 1e-9);
  const Point2d centre = place({0.5, 0.5});  // where the diagonals cross
  for (const auto& [from, to] : {std::pair(quad[0], quad[2]), std::pair(quad[1], quad[3])}) {
    EXPECT_NEAR((to.x - from.x) * (centre.y - from.y), (to.y - from.y) * (centre.x - from.x), 1e-6);
  }
}

TEST(Straighten, CopiesThePartOfAnImageThatAnUprightBoxHas) {
  const Slope slope(60, 40);
  const CutImage cut = straighten(slope.view(), {{{12, 7}, {42, 7}, {42, 19}, {12, 19}}});
  ASSERT_EQ(cut.width, 30);
  ASSERT_EQ(cut.height, 12);
  for (const auto& [x, y] : {std::pair(0, 0), std::pair(29, 0), std::pair(29, 11), std::pair(5, 9)}) {
    expect_near(find_place(cut, x, y), {12.5 + x, 7.5 + y}, 1e-9);
  }
}

TEST(Straighten, FollowsThePerspectiveOfASlantedBox) {
  const Slope slope(100, 70);
  const Quad quad{{{20, 12}, {82, 22}, {76, 50}, {18, 36}}};
  const CutImage cut = straighten(slope.view(), quad);
  ASSERT_EQ(cut.width, 62);   // by its upper side, 62.8 px
  ASSERT_EQ(cut.height, 28);  // by its right side, 28.6 px
  const Perspective place(quad);
  constexpr double tolerance = 0.3;  // half a level of the colour, and OpenCV's cubic, which bends a slope slightly
  for (int y = 0; y < cut.height; y += 9) {
    for (int x = 0; x < cut.width; x += 9) {
      expect_near(find_place(cut, x, y), place({(x + 0.5) / cut.width, (y + 0.5) / cut.height}), tolerance);
    }
  }
}

TEST(Straighten, TurnsWhatIsHigherThanOneAndAHalfTimesItsWidth) {
  const Slope slope(60, 60);
  const CutImage flat = straighten(slope.view(), {{{10, 10}, {30, 10}, {30, 39}, {10, 39}}});
  EXPECT_EQ(flat.width, 20);
  const CutImage turned = straighten(slope.view(), {{{10, 10}, {30, 10}, {30, 40}, {10, 40}}});
  ASSERT_EQ(turned.width, 30);
  ASSERT_EQ(turned.height, 20);
  expect_near(find_place(turned, 0, 0), {29.5, 10.5}, 1e-9);   // the upper right corner comes first
  expect_near(find_place(turned, 29, 0), {29.5, 39.5}, 1e-9);  // then down the right side
  expect_near(find_place(turned, 0, 19), {10.5, 10.5}, 1e-9);
}

TEST(Straighten, RepeatsTheBorderBeyondTheImage) {
  const Slope slope(30, 20);
  const CutImage cut = straighten(slope.view(), {{{-10, -4}, {20, -4}, {20, 8}, {-10, 8}}});
  ASSERT_EQ(cut.width, 30);
  expect_near(find_place(cut, 0, 0), {0.5, 0.5}, 1e-9);
  expect_near(find_place(cut, 20, 8), {10.5, 4.5}, 1e-9);
}

TEST(Straighten, IsEmptyWithoutAPixel) {
  const Slope slope(30, 20);
  EXPECT_TRUE(straighten(slope.view(), {{{3, 3}, {20, 3}, {20, 3.5}, {3, 3.5}}}).empty());
  EXPECT_TRUE(straighten(slope.view(), {{{3, 3}, {3, 3}, {3, 3}, {3, 3}}}).empty());
  EXPECT_TRUE(straighten(slope.view(), {{{3, 3}, {20, 10}, {37, 17}, {20, 10}}}).empty()) << "on one line";
}

}  // namespace
}  // namespace ptrain

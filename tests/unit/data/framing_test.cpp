// How images of any size reach the size of a model's.
#include "core/data/image/framing.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(Framing, FitsInProportionAndReachesOneSide) {
  EXPECT_EQ(fit_inside({480, 640}, {800, 1344}).resized, ImageSize(800, 1066)) << "rounded down, as torchvision does";
  EXPECT_EQ(fit_inside({300, 1000}, {800, 1344}).resized, ImageSize(403, 1344));
  EXPECT_EQ(fit_inside({1, 1000}, {32, 32}).resized, ImageSize(1, 32));
  EXPECT_EQ(fit_inside({1000, 1}, {32, 32}).resized, ImageSize(32, 1));
}

/// Pixels whose red is their column and whose green is their row.
std::vector<std::uint8_t> draw_coordinates(ImageSize size) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      pixels.insert(pixels.end(), {static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y), 0});
    }
  }
  return pixels;
}

TEST(Framing, PutsThePartAtTheUpperLeftAndPadsTheRest) {
  const ImageSize size(4, 6), frame(5, 4);
  const std::vector<std::uint8_t> pixels = draw_coordinates(size);
  const DecodedImage image{6, 4, {pixels.data(), std::size_t{6} * 3, 0, 0}};
  for (const Mirror mirror : {Mirror::no, Mirror::horizontal}) {
    const FramePlacement place{size, size, 3, 1, mirror};
    EXPECT_EQ(place.filled_size(frame), ImageSize(3, 3));
    std::vector<std::uint8_t> out(static_cast<std::size_t>(frame.pixels()) * 3);
    Scratch scratch;
    place_image(image, place, frame, {97, 98, 99}, scratch, out);
    for (std::size_t y = 0; y < 5; ++y) {
      for (std::size_t x = 0; x < 4; ++x) {
        const std::size_t column = mirror == Mirror::no ? 3 + x : 5 - x;
        const bool filled = x < 3 && y < 3;
        EXPECT_EQ(out[3 * (4 * y + x)], filled ? column : 97) << x << ", " << y;
        EXPECT_EQ(out[3 * (4 * y + x) + 1], filled ? y + 1 : 98) << x << ", " << y;
      }
    }
  }
}

TEST(Framing, PlacementsAreReadAsWritten) {
  FramePlacement place = fit_inside({427, 640}, {800, 1344});
  place.mirror = Mirror::horizontal;
  std::vector<float> row(static_cast<std::size_t>(placement_tensor().shape.count()));
  write_placement(place, row);
  const FramePlacement read = read_placement(row);
  EXPECT_EQ(read.original, place.original);
  EXPECT_EQ(read.resized, place.resized);
  EXPECT_EQ(read.mirror, Mirror::horizontal);
  EXPECT_EQ(read.scale_x(), place.scale_x());
}

}  // namespace
}  // namespace ptrain

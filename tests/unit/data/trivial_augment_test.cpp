// Changes of an image against torchvision's (tests/golden/make_augment_golden.py), and how they are drawn.
#include "core/data/image/trivial_augment.h"

#include "core/io/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

namespace ptrain {
namespace {

std::span<const std::uint8_t> read_pixels(const NamedTensor& tensor) {
  EXPECT_EQ(tensor.dtype, DType::u8);
  return {reinterpret_cast<const std::uint8_t*>(tensor.bytes.data()), tensor.bytes.size()};
}

AugmentOp change_named(const std::string& name) {
  for (int i = 0; i < augment_ops; ++i) {
    if (to_string(static_cast<AugmentOp>(i)) == name) return static_cast<AugmentOp>(i);
  }
  throw std::invalid_argument(name);
}

TEST(TrivialAugment, ChangesImagesAsTorchvisionDoes) {
  const SafetensorsFile golden(PTRAIN_SOURCE_DIR "/tests/golden/augment.safetensors");
  const nlohmann::json changes = nlohmann::json::parse(golden.metadata().at("changes"));
  const std::span<const std::uint8_t> picture = read_pixels(golden.at("picture"));
  const std::span<const std::uint8_t> all_expected = read_pixels(golden.at("pixels"));
  ASSERT_EQ(all_expected.size(), changes.size() * picture.size());
  const auto size = static_cast<int>(golden.at("picture").shape[0]);
  std::vector<std::uint8_t> scratch;
  std::map<AugmentOp, int> seen;
  std::size_t number = 0;
  for (const nlohmann::json& one : changes) {
    const AugmentOp change = change_named(one["change"]);
    ++seen[change];
    std::vector<std::uint8_t> pixels(picture.begin(), picture.end());
    apply_augment_op(pixels, size, change, one["amount"], one["negative"], scratch);
    const std::span<const std::uint8_t> expected = all_expected.subspan(number++ * picture.size(), picture.size());
    ASSERT_EQ(pixels.size(), expected.size());
    std::size_t differ = 0;
    int largest = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      differ += pixels[i] != expected[i] ? 1 : 0;
      largest = std::max(largest, std::abs(pixels[i] - expected[i]));
    }
    const std::string what = one["change"].get<std::string>() + " " + one["amount"].dump();
    const bool moved = change == AugmentOp::shear_x || change == AugmentOp::shear_y || change == AugmentOp::rotate;
    if (moved) {
      EXPECT_LE(differ, pixels.size() / 200) << what << ": a pixel just between two may be either";
    } else {
      EXPECT_LE(largest, 1) << what << ": a product just below a whole number may be it";
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(augment_ops));
}

constexpr std::size_t height = 12, width = 20;  // of a picture that is no square

std::vector<std::uint8_t> wide_picture() {
  std::vector<std::uint8_t> picture(height * width * 3);
  for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::uint8_t>(1 + i * 37 % 251);
  return picture;
}

std::vector<std::uint8_t> changed(std::vector<std::uint8_t> pixels, ImageSize size, AugmentOp change, int amount) {
  std::vector<std::uint8_t> scratch;
  apply_augment_op(pixels, size, change, amount, false, scratch);
  return pixels;
}

/// The rows [row, row + height) and columns [column, column + width) of an image of `across` columns.
std::vector<std::uint8_t> get_part(const std::vector<std::uint8_t>& image, std::size_t across, std::size_t row,
                                   std::size_t column) {
  std::vector<std::uint8_t> part;
  for (std::size_t y = 0; y < height; ++y) {
    const auto from = image.begin() + static_cast<std::ptrdiff_t>(3 * ((row + y) * across + column));
    part.insert(part.end(), from, from + 3 * width);
  }
  return part;
}

TEST(TrivialAugment, TurnsAndMovesWideImagesAsPartsOfASquare) {
  constexpr std::size_t side = 40, row = (side - height) / 2, column = (side - width) / 2;
  const std::vector<std::uint8_t> picture = wide_picture();
  std::vector<std::uint8_t> square(side * side * 3);
  for (std::size_t y = 0; y < height; ++y) {
    std::copy_n(picture.begin() + static_cast<std::ptrdiff_t>(3 * y * width), 3 * width,
                square.begin() + static_cast<std::ptrdiff_t>(3 * ((row + y) * side + column)));
  }
  for (const AugmentOp change : {AugmentOp::rotate, AugmentOp::translate_x, AugmentOp::translate_y}) {
    for (const int amount : {1, 4, 9}) {
      EXPECT_EQ(changed(picture, {height, width}, change, amount),
                get_part(changed(square, side, change, amount), side, row, column))
          << to_string(change) << " " << amount;
    }
  }
}

TEST(TrivialAugment, ShearsWideImagesFromTheUpperLeftCorner) {
  const std::vector<std::uint8_t> picture = wide_picture();
  constexpr int amount = 20;
  constexpr double share = 0.99 * amount / 30;
  const auto across = changed(picture, {height, width}, AugmentOp::shear_x, amount);
  const auto down = changed(picture, {height, width}, AugmentOp::shear_y, amount);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t to = 3 * (y * width + x);
      const auto from_x = x + static_cast<std::size_t>(std::nearbyint(share * (static_cast<double>(y) + 0.5)));
      const auto from_y = y + static_cast<std::size_t>(std::nearbyint(share * (static_cast<double>(x) + 0.5)));
      EXPECT_EQ(across[to], from_x < width ? picture[3 * (y * width + from_x)] : 0) << y << " " << x;
      EXPECT_EQ(down[to], from_y < height ? picture[3 * (from_y * width + x)] : 0) << y << " " << x;
    }
  }
}

TEST(TrivialAugment, SharpensWideImagesInsideTheBorder) {
  const std::vector<std::uint8_t> picture = wide_picture();
  const auto sharp = changed(picture, {height, width}, AugmentOp::sharpness, 30);
  for (std::size_t at = 0; at < height * width; ++at) {
    const std::size_t y = at / width, x = at % width;
    const bool border = y == 0 || x == 0 || y + 1 == height || x + 1 == width;
    EXPECT_TRUE(!border || sharp[3 * at] == picture[3 * at]) << y << " " << x;
  }
  EXPECT_NE(sharp, picture);
}

TEST(TrivialAugment, DrawsEveryChangeAndIsTheSameForASample) {
  std::vector<std::uint8_t> picture(std::size_t{16} * 16 * 3), scratch;
  for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::uint8_t>(i * 37 % 251);
  int unchanged = 0;
  for (std::int64_t sample = 0; sample < 2000; ++sample) {
    std::vector<std::uint8_t> once = picture, again = picture;
    apply_trivial_augment(once, 16, {1, 2, sample, DataStream::change}, scratch);
    apply_trivial_augment(again, 16, {1, 2, sample, DataStream::change}, scratch);
    ASSERT_EQ(once, again);
    unchanged += once == picture ? 1 : 0;
  }
  // One of fourteen is no change; by amount zero, and what a picture of all values has already, some more.
  EXPECT_GT(unchanged, 2000 / 14 - 40);
  EXPECT_LT(unchanged, 2000 / 4);
}

}  // namespace
}  // namespace ptrain

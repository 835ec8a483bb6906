// Changes of an image against torchvision's (tests/golden/make_augment_golden.py), and how they are drawn.
#include "core/data/image/trivial_augment.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace ptrain {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

ImageChange change_named(const std::string& name) {
  for (int i = 0; i < image_changes; ++i) {
    if (name_of(static_cast<ImageChange>(i)) == name) return static_cast<ImageChange>(i);
  }
  throw std::invalid_argument(name);
}

TEST(TrivialAugment, ChangesImagesAsTorchvisionDoes) {
  std::ifstream file(PTRAIN_SOURCE_DIR "/tests/golden/augment.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  const std::vector<std::uint8_t> picture = bytes_of(golden["picture"]);
  std::vector<std::uint8_t> scratch;
  std::map<ImageChange, int> seen;
  for (const nlohmann::json& one : golden["changes"]) {
    const ImageChange change = change_named(one["change"]);
    ++seen[change];
    std::vector<std::uint8_t> pixels = picture;
    change_image(pixels, golden["size"], change, one["amount"], one["negative"], scratch);
    const std::vector<std::uint8_t> expected = bytes_of(one["pixels"]);
    ASSERT_EQ(pixels.size(), expected.size());
    std::size_t differ = 0;
    int largest = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      differ += pixels[i] != expected[i] ? 1 : 0;
      largest = std::max(largest, std::abs(pixels[i] - expected[i]));
    }
    const std::string what = one["change"].get<std::string>() + " " + one["amount"].dump();
    const bool moved =
        change == ImageChange::shear_x || change == ImageChange::shear_y || change == ImageChange::rotate;
    if (moved) {
      EXPECT_LE(differ, pixels.size() / 200) << what << ": a pixel just between two may be either";
    } else {
      EXPECT_LE(largest, 1) << what << ": a product just below a whole number may be it";
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(image_changes));
}

TEST(TrivialAugment, DrawsEveryChangeAndIsTheSameForASample) {
  std::vector<std::uint8_t> picture(std::size_t{16} * 16 * 3), scratch;
  for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::uint8_t>(i * 37 % 251);
  int unchanged = 0;
  for (std::int64_t sample = 0; sample < 2000; ++sample) {
    std::vector<std::uint8_t> once = picture, again = picture;
    augment_trivially(once, 16, {1, 2, sample, DataStream::change}, scratch);
    augment_trivially(again, 16, {1, 2, sample, DataStream::change}, scratch);
    ASSERT_EQ(once, again);
    unchanged += once == picture ? 1 : 0;
  }
  // One of fourteen is no change; by amount zero, and what a picture of all values has already, some more.
  EXPECT_GT(unchanged, 2000 / 14 - 40);
  EXPECT_LT(unchanged, 2000 / 4);
}

}  // namespace
}  // namespace ptrain

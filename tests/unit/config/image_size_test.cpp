// How sizes of images are written.
#include "core/config/image_size.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ptrain {
namespace {

using nlohmann::json;

TEST(ImageSize, IsANumberOrHeightAndWidth) {
  EXPECT_EQ(to_text(224), "224");
  EXPECT_EQ(to_text({192, 256}), "192x256");
  EXPECT_EQ(parse_image_size("224"), ImageSize(224, 224));
  EXPECT_EQ(parse_image_size("192x256"), ImageSize(192, 256));
  EXPECT_EQ(parse_image_size("64x64"), ImageSize(64));
  for (const char* wrong : {"", "x", "0", "64x", "x64", "64x0", "-1x64", "+64", "064", "64x64x3", "64 x 64", "64.0",
                            "99999999999999999999", "1048577"}) {
    EXPECT_FALSE(parse_image_size(wrong)) << wrong;
  }
}

TEST(ImageSize, OfASquareIsANumberInJson) {
  EXPECT_EQ(to_json(ImageSize(224)).dump(), "224");
  EXPECT_EQ(to_json(ImageSize(192, 256)).dump(), "\"192x256\"");
  for (const ImageSize size : {ImageSize(8), ImageSize(192, 256)}) EXPECT_EQ(image_size_from_json(to_json(size)), size);
  EXPECT_EQ(image_size_from_json(json{192, 256}), ImageSize(192, 256));
  EXPECT_EQ(image_size_from_json(16.0), ImageSize(16));
  for (const json& wrong : {json(16.5), json(-1), json(1e30), json(nullptr), json{1}, json{1, 2, 3}, json{"1", "2"}}) {
    EXPECT_FALSE(image_size_from_json(wrong)) << wrong;
  }
  const std::vector<ImageSize> sizes{16, {48, 32}};
  EXPECT_EQ(list_to_json(sizes).dump(), "[16.0,\"48x32\"]");
  EXPECT_EQ(image_sizes_from_json(list_to_json(sizes)), sizes);
}

TEST(ImageSize, IsSmallByItsPixels) {
  EXPECT_TRUE(ImageSize(64).is_small());
  EXPECT_TRUE(ImageSize(32, 128).is_small());
  EXPECT_FALSE(ImageSize(65).is_small());
  EXPECT_FALSE(ImageSize(64, 96).is_small());
  EXPECT_EQ(ImageSize().value_or(28), ImageSize(28));
  EXPECT_EQ(ImageSize(96, 64).value_or(28), ImageSize(96, 64));
}

}  // namespace
}  // namespace ptrain

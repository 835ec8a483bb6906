// Decoding of JPEG, PNG, WebP and BMP: every form becomes RGB8, regions match the whole, bad bytes are BadSample.
#include "core/data/image/bmp_image.h"
#include "core/data/image/image_transform.h"
#include "core/data/image/jpeg.h"
#include "core/data/image/png_image.h"
#include "core/data/image/webp_image.h"
#include "core/io/atomic_file.h"
#include "tests/case_name.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>
#include <png.h>
#include <webp/encode.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace ptrain {
namespace {

constexpr int photo_width = 150;
constexpr int photo_height = 110;

int difference(const ImageView& view, int x, int y, const std::uint8_t* rgb) {
  const std::uint8_t* pixel =
      view.pixels + static_cast<std::ptrdiff_t>(view.stride) * (y - view.y) + std::ptrdiff_t{3} * (x - view.x);
  return std::max({std::abs(pixel[0] - rgb[0]), std::abs(pixel[1] - rgb[1]), std::abs(pixel[2] - rgb[2])});
}

ImageView decode_all(const std::vector<std::uint8_t>& bytes, std::vector<std::uint8_t>& pixels) {
  JpegDecoder decoder(bytes, "picture.jpg");
  EXPECT_EQ(decoder.width(), photo_width);
  EXPECT_EQ(decoder.height(), photo_height);
  return decoder.decode({0, 0, photo_width, photo_height}, pixels);
}

class JpegForms : public ::testing::TestWithParam<JpegKind> {};

TEST_P(JpegForms, DecodeToThePictureInRgb) {
  const std::vector<std::uint8_t> picture = make_picture(photo_width, photo_height);
  std::vector<std::uint8_t> pixels;
  const std::vector<std::uint8_t> bytes = encode_jpeg(picture, photo_width, photo_height, GetParam());
  const ImageView view = decode_all(bytes, pixels);
  for (int y = 0; y < photo_height; ++y) {
    for (int x = 0; x < photo_width; ++x) {
      const std::uint8_t* rgb = picture.data() + 3 * (y * photo_width + x);
      const std::uint8_t grey[3] = {rgb[0], rgb[0], rgb[0]};
      ASSERT_LE(difference(view, x, y, GetParam() == JpegKind::grey ? grey : rgb), 12) << x << "," << y;
    }
  }
}

TEST_P(JpegForms, ARegionEqualsThatPartOfTheWhole) {
  const std::vector<std::uint8_t> bytes =
      encode_jpeg(make_picture(photo_width, photo_height), photo_width, photo_height, GetParam());
  std::vector<std::uint8_t> whole_pixels, part_pixels;
  const ImageView whole = decode_all(bytes, whole_pixels);
  for (const Box box : {Box{37, 21, 60, 50}, Box{0, 0, 10, 10}, Box{140, 100, 10, 10}, Box{1, 63, 149, 1}}) {
    JpegDecoder decoder(bytes, "picture.jpg");
    const ImageView part = decoder.decode(box, part_pixels);
    for (int y = box.y; y < box.y + box.height; ++y) {
      for (int x = box.x; x < box.x + box.width; ++x) {
        const std::uint8_t* rgb = whole.pixels + static_cast<std::ptrdiff_t>(whole.stride) * y + 3 * x;
        ASSERT_LE(difference(part, x, y, rgb), 2) << x << "," << y;
      }
    }
  }
}

TEST_P(JpegForms, AReducedDecodeIsTheSmallPicture) {
  const std::vector<std::uint8_t> bytes =
      encode_jpeg(make_picture(photo_width, photo_height), photo_width, photo_height, GetParam());
  const std::vector<std::uint8_t> small = make_picture(photo_width / 2, photo_height / 2);
  std::vector<std::uint8_t> pixels;
  JpegDecoder decoder(bytes, "picture.jpg");
  decoder.set_scale(2);
  const ImageView view = decoder.decode({10, 10, 50, 40}, pixels);
  for (int y = 10; y < 50; ++y) {
    for (int x = 10; x < 60; ++x) {
      const std::uint8_t* rgb = small.data() + 3 * (y * (photo_width / 2) + x);
      const std::uint8_t grey[3] = {rgb[0], rgb[0], rgb[0]};
      ASSERT_LE(difference(view, x, y, GetParam() == JpegKind::grey ? grey : rgb), 14);
    }
  }
}

TEST_P(JpegForms, TruncationIsABadSampleThatNamesTheFile) {
  std::vector<std::uint8_t> bytes =
      encode_jpeg(make_picture(photo_width, photo_height), photo_width, photo_height, GetParam());
  const std::size_t full = bytes.size();
  for (const std::size_t keep : {full / 2, full - 40, std::size_t{10}, std::size_t{3}, std::size_t{0}}) {
    std::vector<std::uint8_t> pixels;
    const std::vector<std::uint8_t> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(keep));
    try {
      JpegDecoder decoder(part, "dir/cut.jpg");
      decoder.decode({0, 0, photo_width, photo_height}, pixels);
      FAIL() << "no error after " << keep << " of " << full << " bytes";
    } catch (const BadSample& bad) {
      EXPECT_TRUE(std::string(bad.what()).starts_with("dir/cut.jpg: corrupt JPEG")) << bad.what();
    }
  }
}

TEST_P(JpegForms, ArePlainWhereAnyDecoderReadsThem) {
  std::vector<std::uint8_t> bytes =
      encode_jpeg(make_picture(photo_width, photo_height), photo_width, photo_height, GetParam());
  const bool plain = GetParam() == JpegKind::rgb || GetParam() == JpegKind::grey;
  EXPECT_EQ(JpegDecoder(bytes, "picture.jpg").is_plain(), plain);
  bytes.resize(bytes.size() - 2);  // without its end marker
  EXPECT_FALSE(JpegDecoder(bytes, "picture.jpg").is_plain());
}

INSTANTIATE_TEST_SUITE_P(AllForms, JpegForms,
                         ::testing::Values(JpegKind::rgb, JpegKind::grey, JpegKind::cmyk, JpegKind::progressive),
                         testing::case_name);

TEST(Jpeg, RefusesAHeaderThatClaimsMoreThanTheFileHolds) {
  std::vector<std::uint8_t> bytes = encode_jpeg(make_picture(16, 16), 16, 16, JpegKind::rgb);
  for (std::size_t i = 0; i + 8 < bytes.size(); ++i) {
    if (bytes[i] != 0xff || bytes[i + 1] != 0xc0) continue;
    bytes[i + 5] = bytes[i + 7] = 0xff;  // the high bytes of height and width
    break;
  }
  EXPECT_THROW(JpegDecoder(bytes, "bomb.jpg"), BadSample);
}

TEST(Png, EveryColourTypeBecomesRgb) {
  const std::vector<std::uint8_t> picture = make_picture(20, 12);
  struct Case {
    int type;
    int depth;
  };
  for (const Case c : {Case{PNG_COLOR_TYPE_RGB, 8}, Case{PNG_COLOR_TYPE_RGBA, 8}, Case{PNG_COLOR_TYPE_GRAY, 8},
                       Case{PNG_COLOR_TYPE_GRAY_ALPHA, 8}, Case{PNG_COLOR_TYPE_PALETTE, 8},
                       Case{PNG_COLOR_TYPE_RGB, 16}, Case{PNG_COLOR_TYPE_GRAY, 16}}) {
    std::vector<std::uint8_t> pixels;
    const DecodedImage image = decode_png(encode_png(picture, 20, 12, c.type, c.depth), "picture.png", pixels);
    ASSERT_EQ(image.width, 20);
    ASSERT_EQ(image.height, 12);
    for (std::size_t i = 0; i < picture.size(); i += 3) {
      const int red = picture[i];
      EXPECT_EQ(pixels[i], red);
      if (c.type == PNG_COLOR_TYPE_PALETTE) {
        EXPECT_EQ(pixels[i + 1], 255 - red);
      }
      if (c.type == PNG_COLOR_TYPE_GRAY) {
        EXPECT_EQ(pixels[i + 2], red);
      }
      if (c.type == PNG_COLOR_TYPE_RGBA) {
        EXPECT_EQ(pixels[i + 1], picture[i + 1]);
      }
    }
  }
}

TEST(Png, TruncationAndDamageAreBadSamples) {
  const std::vector<std::uint8_t> bytes = encode_png(make_picture(64, 64), 64, 64, PNG_COLOR_TYPE_RGB, 8);
  std::vector<std::uint8_t> pixels;
  for (std::size_t keep = 0; keep < bytes.size(); keep += 17) {
    const std::vector<std::uint8_t> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(keep));
    EXPECT_THROW(decode_png(part, "cut.png", pixels), BadSample) << keep;
  }
  std::vector<std::uint8_t> damaged = bytes;
  damaged[damaged.size() / 2] ^= 0xff;
  EXPECT_THROW(decode_png(damaged, "damaged.png", pixels), BadSample);
}

TEST(WebP, DecodesToThePictureAndRefusesEveryTruncation) {
  const std::vector<std::uint8_t> picture = make_picture(photo_width, photo_height);
  std::uint8_t* encoded = nullptr;
  const std::size_t size = WebPEncodeLosslessRGB(picture.data(), photo_width, photo_height, 3 * photo_width, &encoded);
  ASSERT_GT(size, 0u);
  const std::vector<std::uint8_t> bytes(encoded, encoded + size);
  WebPFree(encoded);
  ASSERT_TRUE(is_webp(bytes));
  std::vector<std::uint8_t> pixels;
  const DecodedImage image = decode_webp(bytes, "a.webp", pixels);
  EXPECT_EQ(std::pair(image.width, image.height), std::pair(photo_width, photo_height));
  EXPECT_EQ(pixels, picture);
  for (std::size_t keep = 0; keep + 1 < size; keep += 97) {
    EXPECT_THROW(decode_webp(std::span(bytes).first(keep), "a.webp", pixels), BadSample) << keep;
  }
}

std::string little(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::vector<std::uint8_t> make_bmp(int width, int height, int bits, const std::string& palette,
                                   const std::string& rows) {
  const auto pixels_at = static_cast<std::uint32_t>(54 + palette.size());
  const std::string text = "BM" + little(pixels_at + static_cast<std::uint32_t>(rows.size()), 4) + little(0, 4) +
                           little(pixels_at, 4) + little(40, 4) + little(static_cast<std::uint32_t>(width), 4) +
                           little(static_cast<std::uint32_t>(height), 4) + little(1, 2) +
                           little(static_cast<std::uint32_t>(bits), 2) + std::string(24, '\0') + palette + rows;
  return {text.begin(), text.end()};
}

TEST(Bmp, DecodesPalettesAndColoursFromBelowAndFromAbove) {
  const std::string red("\0\0\xff", 3), blue("\xff\0\0", 3), none(1, '\0');
  const std::vector<std::uint8_t> expected{255, 0, 0, 0, 0, 255, 0, 0, 255, 255, 0, 0};  // red, blue; blue, red
  const std::string palette = red + none + blue + none;
  std::vector<std::uint8_t> pixels;
  for (const auto& bytes : {make_bmp(2, 2, 24, "", blue + red + "  " + red + blue + "  "),
                            make_bmp(2, -2, 32, "", red + none + blue + none + blue + none + red + none),
                            make_bmp(2, 2, 8, palette, std::string("\1\0  \0\1  ", 8)),
                            make_bmp(2, 2, 4, palette, std::string("\x10   \x01   ", 8)),
                            make_bmp(2, 2, 1, palette, std::string("\x80   \x40   ", 8))}) {
    ASSERT_TRUE(is_bmp(bytes));
    const DecodedImage image = decode_bmp(bytes, "a.bmp", pixels);
    EXPECT_EQ(std::pair(image.width, image.height), std::pair(2, 2));
    EXPECT_EQ(pixels, expected);
    for (std::size_t keep = 0; keep < bytes.size(); ++keep) {
      EXPECT_THROW(decode_bmp(std::span(bytes).first(keep), "a.bmp", pixels), BadSample) << keep;
    }
  }
  EXPECT_THROW(decode_bmp(make_bmp(2, 2, 16, "", std::string(8, 'x')), "a.bmp", pixels), BadSample);
  EXPECT_THROW(decode_bmp(make_bmp(100000, 100000, 24, "", "x"), "a.bmp", pixels), BadSample);
}

TEST(LargeImages, AreNamedBySizeAndNotCalledCorrupt) {
  std::vector<std::uint8_t> pixels;
  const auto error = [&](const std::vector<std::uint8_t>& bytes) {
    return get_error_message([&] { decode_image(bytes, "a", pixels); });
  };
  const std::string expected =
      "a: has 13000 x 12000 pixels; images of more than 150 million are not read, make it smaller";
  EXPECT_EQ(error(make_bmp(13000, 12000, 24, "", "x")), expected);
  std::vector<std::uint8_t> jpeg = encode_jpeg(make_picture(16, 16), 16, 16, JpegKind::rgb);
  const std::array<std::uint8_t, 2> frame{0xff, 0xc0};
  const auto start = std::search(jpeg.begin(), jpeg.end(), frame.begin(), frame.end());
  const std::array<std::uint8_t, 4> sides{12000 >> 8, 12000 & 255, 13000 >> 8, 13000 & 255};
  std::copy(sides.begin(), sides.end(), start + 5);
  EXPECT_EQ(error(jpeg), expected);
  std::vector<std::uint8_t> png = encode_png(make_picture(16, 16), 16, 16, PNG_COLOR_TYPE_RGB, 8);
  for (std::size_t i = 0; i < 2; ++i) {
    png[18 + i] = sides[2 + i];
    png[22 + i] = sides[i];
  }
  const std::uint32_t checksum = crc32(std::as_bytes(std::span(png).subspan(12, 17)));
  for (std::size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<std::uint8_t>(checksum >> (24 - 8 * i));
  EXPECT_EQ(error(png), expected);
}

}  // namespace
}  // namespace ptrain

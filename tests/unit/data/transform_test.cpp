// Resizing and augmentation.
#include "core/data/image/image_transform.h"

#include "core/io/atomic_file.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <memory>
#include <set>
#include <utility>

namespace ptrain {
namespace {

/// Pillow's definition, in double precision and without its intermediate rounding.
double reference_pixel(const std::vector<std::uint8_t>& rgb, int width, int height, int out_width, int out_height,
                       int x, int y, int channel) {
  const auto taps = [](int in, int out, int position) {
    const double scale = static_cast<double>(in) / out, support = std::max(scale, 1.0),
                 center = (position + 0.5) * scale;
    std::vector<double> weights(static_cast<std::size_t>(in), 0.0);
    double total = 0;
    for (int i = 0; i < in; ++i) {
      const double distance = std::abs(i + 0.5 - center) / support;
      weights[static_cast<std::size_t>(i)] = std::max(0.0, 1 - distance);
      total += weights[static_cast<std::size_t>(i)];
    }
    for (double& weight : weights) weight /= total;
    return weights;
  };
  const std::vector<double> across = taps(width, out_width, x), down = taps(height, out_height, y);
  double sum = 0;
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) {
      sum += down[static_cast<std::size_t>(i)] * across[static_cast<std::size_t>(j)] *
             rgb[static_cast<std::size_t>(3 * (i * width + j) + channel)];
    }
  }
  return sum;
}

std::vector<std::uint8_t> noise(int width, int height) {
  std::vector<std::uint8_t> rgb;
  const RandomStream stream{3, 1, 4};
  for (int i = 0; i < width * height * 3; ++i) rgb.push_back(static_cast<std::uint8_t>(stream.bits(i)));
  return rgb;
}

TEST(Resize, MatchesTheTriangleFilterUpAndDown) {
  constexpr int width = 37, height = 23;
  const std::vector<std::uint8_t> rgb = noise(width, height);
  Scratch scratch;
  struct Size {
    int width, height;
  };
  for (const Size size : {Size{10, 9}, Size{37, 5}, Size{80, 60}, Size{1, 1}, Size{36, 24}}) {
    std::vector<std::uint8_t> out(static_cast<std::size_t>(size.width * size.height * 3));
    resize_bilinear({rgb.data(), width * 3, 0, 0}, {width, size.width, 0, size.width},
                    {height, size.height, 0, size.height}, Mirror::no, scratch, out.data());
    for (int i = 0; i < static_cast<int>(out.size()); ++i) {
      const double expected =
          reference_pixel(rgb, width, height, size.width, size.height, i / 3 % size.width, i / 3 / size.width, i % 3);
      ASSERT_NEAR(out[static_cast<std::size_t>(i)], expected, 0.502) << size.width << "x" << size.height << " at " << i;
    }
  }
}

TEST(Resize, AWindowIsThatPartOfTheWholeAndMirrorReversesRows) {
  constexpr int width = 50, height = 40;
  const std::vector<std::uint8_t> rgb = noise(width, height);
  Scratch scratch;
  std::vector<std::uint8_t> whole(30 * 20 * 3), part(8 * 6 * 3), mirrored(8 * 6 * 3);
  resize_bilinear({rgb.data(), width * 3, 0, 0}, {width, 30, 0, 30}, {height, 20, 0, 20}, Mirror::no, scratch,
                  whole.data());
  const ResizeAxis across{width, 30, 11, 8}, down{height, 20, 9, 6};
  resize_bilinear({rgb.data(), width * 3, 0, 0}, across, down, Mirror::no, scratch, part.data());
  resize_bilinear({rgb.data(), width * 3, 0, 0}, across, down, Mirror::horizontal, scratch, mirrored.data());
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 8; ++x) {
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(part[static_cast<std::size_t>(3 * (y * 8 + x) + c)],
                  whole[static_cast<std::size_t>(3 * ((y + 9) * 30 + x + 11) + c)]);
        EXPECT_EQ(mirrored[static_cast<std::size_t>(3 * (y * 8 + 7 - x) + c)],
                  part[static_cast<std::size_t>(3 * (y * 8 + x) + c)]);
      }
    }
  }
}

TEST(ImageTransform, EvaluationResizesTheShorterSideAndCropsTheCentre) {
  SampleRandom random(0, 0, 0);
  const CropDraw plan = ImageTransform(224, Augmentation::none).plan(500, 375, random);
  EXPECT_EQ(plan.resized_width, 341);  // int(256 * 500 / 375)
  EXPECT_EQ(plan.resized_height, 256);
  EXPECT_EQ(plan.left, 58);  // round half to even of 58.5
  EXPECT_EQ(plan.top, 16);
  const CropDraw small = ImageTransform(28, Augmentation::none).plan(28, 28, random);
  EXPECT_EQ(small.resized_width, 28);
}

TEST(ImageTransform, EvaluationCoversHeightAndWidthAndCropsTheCentre) {
  SampleRandom random(0, 0, 0);
  const ImageTransform high({96, 64}, Augmentation::none);
  EXPECT_EQ(high.resized_to(), ImageSize(110, 73));  // 96 and 64 by 256 / 224
  const CropDraw by_height = high.plan(500, 375, random);
  EXPECT_EQ(by_height.resized_height, 110);
  EXPECT_EQ(by_height.resized_width, 146);  // int(110 * 500 / 375)
  EXPECT_EQ(by_height.left, 41);
  EXPECT_EQ(by_height.top, 7);
  const CropDraw by_width = high.plan(200, 400, random);
  EXPECT_EQ(by_width.resized_width, 73);
  EXPECT_EQ(by_width.resized_height, 146);
  EXPECT_EQ(by_width.left, 4);  // round half to even of 4.5
  EXPECT_EQ(by_width.top, 25);
}

TEST(ImageTransform, WideResultsAreThePartOfTheResizedImage) {
  constexpr int width = 90, height = 100;
  const std::vector<std::uint8_t> rgb = noise(width, height);
  const ImageSize size{24, 48};  // small: no margin
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size.pixels()) * 3);
  Scratch scratch;
  SampleRandom random(0, 0, 0);
  ImageTransform(size, Augmentation::none).apply({rgb.data(), width * 3, 0, 0}, width, height, random, scratch, out);
  constexpr int resized_height = 53, top = 14;  // int(48 * 100 / 90), round half to even of 14.5
  for (int i = 0; i < static_cast<int>(out.size()); ++i) {
    const double expected = reference_pixel(rgb, width, height, size.width, resized_height, i / 3 % size.width,
                                            i / 3 / size.width + top, i % 3);
    ASSERT_NEAR(out[static_cast<std::size_t>(i)], expected, 0.502) << i;
  }
}

TEST(ImageTransform, RandomCropsHaveTheShapeOfTheResult) {
  const ImageTransform transform({64, 192}, Augmentation::random_resized_crop);
  for (int i = 0; i < 500; ++i) {
    SampleRandom random(1, 2, i);
    const CropDraw plan = transform.plan(900, 400, random);
    EXPECT_EQ(plan.resized_width, 192);
    EXPECT_EQ(plan.resized_height, 64);
    const double ratio = static_cast<double>(plan.crop.width) / plan.crop.height;
    ASSERT_GT(ratio, 3 * 0.72);
    ASSERT_LT(ratio, 3 * 1.37);
  }
  SampleRandom random(1, 2, 3);
  const CropDraw narrow = transform.plan(10, 1000, random);
  EXPECT_EQ(narrow.crop.height, 4) << "none fits: the centre at the nearest ratio, 9 : 4";
  EXPECT_EQ(narrow.crop.width, 10);
  EXPECT_EQ(narrow.crop.y, 498);
}

TEST(ImageTransform, WideImagesShiftFartherToTheSide) {
  const ImageTransform transform({32, 64}, Augmentation::crop_flip);
  const std::vector<std::uint8_t> white(32 * 64 * 3, 255);
  std::vector<std::uint8_t> out(white.size());
  Scratch scratch;
  std::set<int> across, down;
  for (int i = 0; i < 600; ++i) {
    SampleRandom planned(1, 2, i), applied(1, 2, i);
    const CropDraw plan = transform.plan(64, 32, planned);
    across.insert(plan.shift_x), down.insert(plan.shift_y);
    transform.apply({white.data(), 64 * 3, 0, 0}, 64, 32, applied, scratch, out);
    const auto lit = std::count(out.begin(), out.end(), 255);
    EXPECT_EQ(lit, 3 * (64 - std::abs(plan.shift_x)) * (32 - std::abs(plan.shift_y)));
  }
  EXPECT_EQ(*across.rbegin(), 8);
  EXPECT_EQ(*down.rbegin(), 4);
}

TEST(ImageTransform, RandomResizedCropStaysInsideWithItsAreaAndRatio) {
  const ImageTransform transform(224, Augmentation::random_resized_crop);
  int flips = 0;
  double mean_area = 0;
  for (int i = 0; i < 2000; ++i) {
    SampleRandom random(1, 2, i);
    const CropDraw plan = transform.plan(500, 375, random);
    ASSERT_GE(plan.crop.x, 0);
    ASSERT_GE(plan.crop.y, 0);
    ASSERT_LE(plan.crop.x + plan.crop.width, 500);
    ASSERT_LE(plan.crop.y + plan.crop.height, 375);
    const double ratio = static_cast<double>(plan.crop.width) / plan.crop.height;
    ASSERT_GT(ratio, 0.73);
    ASSERT_LT(ratio, 1.36);
    mean_area += plan.crop.width * plan.crop.height / (500.0 * 375.0) / 2000;
    flips += plan.mirror == Mirror::horizontal;
  }
  EXPECT_NEAR(mean_area, 0.437, 0.02);  // below 0.54: crops that do not fit are drawn again
  EXPECT_NEAR(flips, 1000, 120);
}

TEST(ImageTransform, CropFlipShiftsByAtMostFourAndPadsWithZeros) {
  const ImageTransform transform(32, Augmentation::crop_flip);
  const std::vector<std::uint8_t> white(32 * 32 * 3, 255);
  std::vector<std::uint8_t> out(white.size());
  Scratch scratch;
  std::set<int> shifts;
  for (int i = 0; i < 300; ++i) {
    SampleRandom planned(1, 2, i), applied(1, 2, i);
    const CropDraw plan = transform.plan(32, 32, planned);
    shifts.insert(plan.shift_x);
    transform.apply({white.data(), 32 * 3, 0, 0}, 32, 32, applied, scratch, out);
    const auto lit = std::count(out.begin(), out.end(), 255);
    EXPECT_EQ(lit, 3 * (32 - std::abs(plan.shift_x)) * (32 - std::abs(plan.shift_y)));
  }
  EXPECT_EQ(shifts, (std::set<int>{-4, -3, -2, -1, 0, 1, 2, 3, 4}));
}

TEST(ImageTransform, AnotherSizeShiftsAsFarInProportion) {
  const ImageTransform half = ImageTransform(32, Augmentation::crop_flip).in_form({.size = 16});
  std::set<int> shifts;
  for (int i = 0; i < 300; ++i) {
    SampleRandom random(1, 2, i);
    const CropDraw plan = half.plan(32, 32, random);
    EXPECT_EQ(plan.resized_width, 16);
    shifts.insert(plan.shift_x);
  }
  EXPECT_EQ(shifts, (std::set<int>{-2, -1, 0, 1, 2}));
}

TEST(ImageTransform, RandomCropsAreNoSmallerThanAsked) {
  const ImageTransform transform =
      ImageTransform(224, Augmentation::random_resized_crop).in_form({.smallest_crop = 0.6f});
  for (int i = 0; i < 300; ++i) {
    SampleRandom random(1, 2, i);
    const CropDraw plan = transform.plan(400, 400, random);
    EXPECT_EQ(plan.resized_width, 224);
    EXPECT_GE(plan.crop.width * plan.crop.height, 0.59 * 400 * 400);
  }
}

TEST(ImageTransform, JpegAndPngOfAPictureGiveTheSameInput) {
  const std::vector<std::uint8_t> picture = make_picture(400, 300);
  const auto jpeg = encode_jpeg(picture, 400, 300, JpegKind::rgb);
  const auto png = encode_png(picture, 400, 300, PNG_COLOR_TYPE_RGB, 8);
  Scratch scratch;
  for (const Augmentation augment : {Augmentation::none, Augmentation::crop_flip, Augmentation::random_resized_crop}) {
    for (const int size : {32, 96, 224}) {
      std::vector<std::uint8_t> a(static_cast<std::size_t>(size * size * 3)), b(a.size());
      SampleRandom first(5, 0, size), second(5, 0, size);
      ImageTransform(size, augment).apply_encoded(jpeg, "a.jpg", first, scratch, a);
      ImageTransform(size, augment).apply_encoded(png, "a.png", second, scratch, b);
      int worst = 0;
      for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
      EXPECT_LE(worst, 12) << size;
    }
  }
}

/// EXIF data that has only the orientation, in either byte order.
std::string exif(int tag, bool big_endian) {
  const std::string entry_of_big("MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0?\0\0\0\0\0\0", 26);
  const std::string entry_of_little("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0?\0\0\0\0\0\0\0", 26);
  std::string data = big_endian ? entry_of_big : entry_of_little;
  data[data.find('?')] = static_cast<char>(tag);
  return data;
}

std::vector<std::uint8_t> inserted(std::vector<std::uint8_t> file, std::ptrdiff_t at, const std::string& bytes) {
  file.insert(file.begin() + at, bytes.begin(), bytes.end());
  return file;
}

std::vector<std::uint8_t> jpeg_with(const std::vector<std::uint8_t>& jpeg, const std::string& exif) {
  const std::string content = std::string("Exif\0\0", 6) + exif;
  return inserted(jpeg, 2, std::string("\xff\xe1\0", 3) + static_cast<char>(content.size() + 2) + content);
}

/// Behind the header, whose chunk takes 25 bytes.
std::vector<std::uint8_t> png_with(const std::vector<std::uint8_t>& png, const std::string& exif) {
  const std::string chunk = "eXIf" + exif;
  const std::uint32_t check = crc32(std::as_bytes(std::span(chunk)));
  std::string bytes = std::string("\0\0\0", 3) + static_cast<char>(exif.size()) + chunk;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(check >> shift);
  return inserted(png, 33, bytes);
}

/// PIL's ImageOps.exif_transpose: where the pixel at (x, y) of the result comes from, in an image of w x h.
std::pair<int, int> source_of(int tag, int x, int y, int w, int h) {
  switch (tag) {
    case 2:
      return {w - 1 - x, y};  // FLIP_LEFT_RIGHT
    case 3:
      return {w - 1 - x, h - 1 - y};  // ROTATE_180
    case 4:
      return {x, h - 1 - y};  // FLIP_TOP_BOTTOM
    case 5:
      return {y, x};  // TRANSPOSE
    case 6:
      return {y, h - 1 - x};  // ROTATE_270, which PIL counts against the clock
    case 7:
      return {w - 1 - y, h - 1 - x};  // TRANSVERSE
    case 8:
      return {w - 1 - y, x};  // ROTATE_90
    default:
      return {x, y};
  }
}

TEST(Exif, ImagesAreTurnedAsPillowTurnsThem) {
  constexpr int width = 5, height = 3;
  const auto picture = make_picture(width, height);
  const auto png = encode_png(picture, width, height, PNG_COLOR_TYPE_RGB, 8);
  const auto jpeg = encode_jpeg(picture, width, height, JpegKind::rgb);
  std::vector<std::uint8_t> stored, pixels;
  for (const bool is_png : {true, false}) {
    const DecodedImage before = decode_image(is_png ? png : jpeg, "stored", stored);
    for (int tag = 0; tag <= 9; ++tag) {
      for (const bool big_endian : {true, false}) {
        const std::string data = exif(tag, big_endian);
        const auto file = is_png ? png_with(png, data) : jpeg_with(jpeg, data);
        const DecodedImage image = decode_image(file, "turned", pixels);
        const bool swaps = tag >= 5 && tag <= 8;
        ASSERT_EQ(std::pair(image.width, image.height), swaps ? std::pair(height, width) : std::pair(width, height));
        for (int y = 0; y < image.height; ++y) {
          for (int x = 0; x < image.width; ++x) {
            const auto [from_x, from_y] = source_of(tag, x, y, width, height);
            const std::uint8_t* from =
                before.view.pixels + before.view.stride * static_cast<std::size_t>(from_y) + 3 * from_x;
            const std::uint8_t* to = image.view.pixels + image.view.stride * static_cast<std::size_t>(y) + 3 * x;
            ASSERT_TRUE(std::equal(from, from + 3, to)) << tag << " at " << x << ", " << y;
          }
        }
        EXPECT_EQ(decode_image(file, "stored", pixels, ImageOrientation::stored).width, width);
      }
    }
  }
}

TEST(Exif, AReducedJpegIsTurnedToo) {
  constexpr int width = 400, height = 300;
  const auto picture = make_picture(width, height);
  Scratch scratch;
  for (int tag = 2; tag <= 8; ++tag) {
    const bool swaps = tag >= 5;
    const int seen_width = swaps ? height : width, seen_height = swaps ? width : height;
    std::vector<std::uint8_t> upright;
    for (int y = 0; y < seen_height; ++y) {
      for (int x = 0; x < seen_width; ++x) {
        const auto [from_x, from_y] = source_of(tag, x, y, width, height);
        const auto from = picture.begin() + 3 * (from_y * width + from_x);
        upright.insert(upright.end(), from, from + 3);
      }
    }
    const auto seen = encode_jpeg(upright, seen_width, seen_height, JpegKind::rgb);
    const auto turned = jpeg_with(encode_jpeg(picture, width, height, JpegKind::rgb), exif(tag, true));
    for (const Augmentation augment : {Augmentation::none, Augmentation::random_resized_crop}) {
      std::vector<std::uint8_t> a(32 * 48 * 3), b(a.size());
      SampleRandom first(5, 0, tag), second(5, 0, tag);
      ImageTransform({32, 48}, augment).apply_encoded(seen, "seen", first, scratch, a);
      ImageTransform({32, 48}, augment).apply_encoded(turned, "turned", second, scratch, b);
      int worst = 0;
      for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
      EXPECT_LE(worst, 12) << tag;
    }
  }
}

TEST(Exif, DamagedDataLeavesTheImageAsStored) {
  const auto jpeg = encode_jpeg(make_picture(5, 3), 5, 3, JpegKind::rgb);
  const std::string whole = exif(6, true);
  std::vector<std::uint8_t> pixels;
  for (std::size_t keep = 0; keep < 20; ++keep) {
    EXPECT_EQ(decode_image(jpeg_with(jpeg, whole.substr(0, keep)), "cut", pixels).width, 5) << keep;
  }
  std::string far = whole;
  far[4] = '\xff';
  EXPECT_EQ(decode_image(jpeg_with(jpeg, far), "far", pixels).width, 5);
}

/// Stands for a device: answers with pixels of one colour, or with none.
class OneColour final : public ImageDecoder {
 public:
  explicit OneColour(std::uint8_t colour) : colour_(colour) {}
  std::span<const std::uint8_t> decode(std::span<const std::uint8_t>, int width, int height) override {
    pixels_.assign(colour_ == 0 ? 0 : static_cast<std::size_t>(3 * width * height), colour_);
    return pixels_;
  }

 private:
  std::uint8_t colour_;
  std::vector<std::uint8_t> pixels_;
};

TEST(ImageTransform, ADevicesPixelsAreTakenWhereThereAreSome) {
  const std::vector<std::uint8_t> picture = make_picture(400, 300);
  const auto plain = encode_jpeg(picture, 400, 300, JpegKind::rgb);
  const auto progressive = encode_jpeg(picture, 400, 300, JpegKind::progressive);
  const auto result = [](const std::vector<std::uint8_t>& jpeg, std::unique_ptr<ImageDecoder> decoder) {
    Scratch scratch;
    scratch.decoder = std::move(decoder);
    std::vector<std::uint8_t> out(96 * 96 * 3);
    SampleRandom random(5, 0, 1);
    ImageTransform(96, Augmentation::random_resized_crop).apply_encoded(jpeg, "a.jpg", random, scratch, out);
    return std::pair(out, scratch.device_decoded);
  };
  const auto host = result(plain, nullptr);
  EXPECT_EQ(result(plain, std::make_unique<OneColour>(7)),
            (std::pair(std::vector<std::uint8_t>(96 * 96 * 3, 7), std::int64_t{1})));
  EXPECT_EQ(result(plain, std::make_unique<OneColour>(0)), host);
  EXPECT_EQ(result(progressive, std::make_unique<OneColour>(7)), result(progressive, nullptr));
}

TEST(ImageTransform, HandlesExtremeShapes) {
  Scratch scratch;
  std::vector<std::uint8_t> out(64 * 64 * 3);
  for (const Augmentation augment : {Augmentation::none, Augmentation::crop_flip, Augmentation::random_resized_crop}) {
    for (const auto& [width, height] : {std::pair{1, 1}, std::pair{600, 2}, std::pair{2, 600}}) {
      const auto png = encode_png(make_picture(width, height), width, height, PNG_COLOR_TYPE_RGB, 8);
      const auto jpeg = encode_jpeg(make_picture(width, height), width, height, JpegKind::rgb);
      for (int i = 0; i < 20; ++i) {
        SampleRandom random(1, 1, i);
        ImageTransform(64, augment).apply_encoded(png, "thin.png", random, scratch, out);
        ImageTransform(64, augment).apply_encoded(jpeg, "thin.jpg", random, scratch, out);
      }
    }
  }
}

}  // namespace
}  // namespace ptrain

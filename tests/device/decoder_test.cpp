// Images that the GPU decodes: a data set read so is the one that the CPU decodes, and what is wrong with it the same.
#include "core/config/config_enums.h"
#include "core/data/image/image_transform.h"
#include "core/data/tensor_names.h"
#include "core/train/input/image_decoders.h"
#include "tests/unit/data/test_files.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <cstdlib>

namespace ptrain {
namespace {

using namespace testing;

constexpr int width = 400, height = 300;
// Of inverse DCTs that round to neighbouring levels: of grey, and of luma and chroma, of which blue is Y + 1.772 Cb.
constexpr int grey_rounding = 1, rounding = 3;
constexpr double mean_rounding = 0.25;

/// A picture with detail at every scale.
std::vector<std::uint8_t> make_textured_picture() {
  std::vector<std::uint8_t> rgb = make_picture(width, height);
  const RandomStream stream{3, 1, 4};
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    const int drawn = static_cast<int>(stream.bits(i) % 64) - 32;
    rgb[i] = static_cast<std::uint8_t>(std::clamp(rgb[i] + drawn, 0, 255));
  }
  return rgb;
}

/// Largest and mean difference of two images in grey levels.
struct Difference {
  int worst = 0;
  double mean = 0;
};

Difference pixel_difference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  Difference found;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int distance = std::abs(a[i] - b[i]);
    found.worst = std::max(found.worst, distance);
    found.mean += static_cast<double>(distance) / static_cast<double>(a.size());
  }
  return found;
}

class DeviceDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    backend_ = make_test_backend();
    try {
      make_decoder_ = backend_->image_decoders();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Classes a and b of four images each; of a: JPEGs in every form, of b: one JPEG each and a PNG.
  void write_images() {
    const std::vector<std::uint8_t> picture = make_textured_picture();
    const auto write = [&](const std::string& name, const std::vector<std::uint8_t>& bytes) {
      folder_.write("images/train/" + name, bytes);
    };
    for (const JpegKind kind : {JpegKind::rgb, JpegKind::grey, JpegKind::cmyk, JpegKind::progressive}) {
      write(fmt::format("a/{}.jpg", to_string(kind)), encode_jpeg(picture, width, height, kind));
    }
    for (int i = 0; i < 3; ++i) write(fmt::format("b/{}.jpg", i), encode_jpeg(picture, width, height, JpegKind::rgb));
    write("b/4.png", encode_png(picture, width, height, PNG_COLOR_TYPE_RGB, 8));
  }
  static constexpr std::int64_t plain_jpegs = 5;  // of the eight

  std::unique_ptr<Dataset> open_images(int size) const {
    return open_dataset({.source = "image_folder", .path = folder_ / "images", .image_size = size}, Split::train);
  }

  TemporaryDirectory folder_;
  std::unique_ptr<Backend> backend_;
  MakeImageDecoder make_decoder_;
};

/// The CPU's path reduces images as it decodes them; compared with it is what it makes of whole ones.
TEST_F(DeviceDecoder, GivesWhatAWholeImageDecodedByTheCpuGives) {
  const std::vector<std::uint8_t> picture = make_textured_picture();
  Scratch device, host;
  device.decoder = make_decoder_();
  for (const JpegKind kind : {JpegKind::rgb, JpegKind::grey}) {
    const std::vector<std::uint8_t> jpeg = encode_jpeg(picture, width, height, kind);
    const DecodedImage whole = decode_image(jpeg, "a.jpg", host.pixels);
    for (const Augmentation augment :
         {Augmentation::none, Augmentation::crop_flip, Augmentation::random_resized_crop}) {
      for (const int size : {32, 96, 224, 300}) {
        SCOPED_TRACE(fmt::format("{} {} {}", to_string(kind), enum_name(augment), size));
        const ImageTransform transform(size, augment);
        std::vector<std::uint8_t> a(static_cast<std::size_t>(size * size * 3)), b(a.size());
        SampleRandom first(5, 0, size), second(5, 0, size);
        transform.apply_encoded(jpeg, "a.jpg", first, device, a);
        transform.apply(whole.view, whole.width, whole.height, second, host, b);
        const Difference found = pixel_difference(a, b);
        EXPECT_LE(found.worst, kind == JpegKind::grey ? grey_rounding : rounding);
        EXPECT_LE(found.mean, mean_rounding);
      }
    }
  }
  EXPECT_EQ(device.device_decoded, 2 * 3 * 4);
}

TEST_F(DeviceDecoder, ABatchIsTheCpusWhereNothingIsReduced) {
  write_images();
  const auto data = open_images(height);  // crops of at most 400 x 300 pixels become 300 x 300
  for (const int workers : {0, 3}) {
    LoaderOptions options{.batch_size = 4, .workers = workers, .epochs = 3};
    Loader host(*data, options);
    options.make_decoder = make_decoder_;
    Loader device(*data, options);
    for (int i = 0; i < 3 * 2; ++i) {
      const Batch &a = device.next(), &b = host.next();
      EXPECT_EQ(a.sample_indices, b.sample_indices);
      const Difference found =
          pixel_difference(a.values<std::uint8_t>(tensor_names::images), b.values<std::uint8_t>(tensor_names::images));
      EXPECT_LE(found.worst, rounding);
      EXPECT_LE(found.mean, mean_rounding);
    }
    EXPECT_EQ(device.device_decoded(), 3 * plain_jpegs);
    EXPECT_EQ(host.device_decoded(), 0);
  }
}

TEST_F(DeviceDecoder, OtherFormsAreTheHosts) {
  write_images();
  const auto data = open_images(64);
  Scratch scratch;
  scratch.decoder = make_decoder_();
  Batch sample(data->tensors({}), 1);
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const std::string file = data->origin(i).file;
    const std::int64_t before = scratch.device_decoded;
    data->load(i, SampleRandom(0, 0, i), scratch, SampleRow(sample, 0));
    if (scratch.device_decoded > before) continue;
    EXPECT_TRUE(file.ends_with("cmyk.jpg") || file.ends_with("progressive.jpg") || file.ends_with(".png")) << file;
    EXPECT_TRUE(std::ranges::equal(load_image(*data, i).pixels, sample.values<std::uint8_t>(tensor_names::images)))
        << file;
  }
  EXPECT_EQ(scratch.device_decoded, plain_jpegs);
}

TEST_F(DeviceDecoder, SaysWhatTheHostSaysOfADamagedJpeg) {
  const std::vector<std::uint8_t> jpeg = encode_jpeg(make_textured_picture(), width, height, JpegKind::rgb);
  Scratch device, host;
  device.decoder = make_decoder_();
  std::vector<std::uint8_t> out(224 * 224 * 3);
  for (const std::size_t keep : {jpeg.size() - 2, jpeg.size() / 2, std::size_t{300}, std::size_t{10}, std::size_t{3}}) {
    const std::span<const std::uint8_t> part(jpeg.data(), keep);
    const auto message = [&](Scratch& scratch) {
      SampleRandom random(1, 0, 0);
      return get_error_message(
          [&] { ImageTransform(224, Augmentation::none).apply_encoded(part, "cut.jpg", random, scratch, out); });
    };
    const std::string expected = message(host);
    EXPECT_EQ(expected.empty(), keep == jpeg.size() - 2) << expected;  // its last marker alone is no loss
    EXPECT_EQ(message(device), expected);
  }
  EXPECT_EQ(device.device_decoded, 0);
}

TEST_F(DeviceDecoder, ATrainingOnItFollowsTheHosts) {
  write_images();
  Config config = resnet_config();
  config.model.classes = 2;
  config.data.source = "image_folder";
  config.data.path = folder_ / "images";
  config.data.image_size = 152;  // of crops of at most 300 lines, which are not reduced
  config.data.batch_size = 2;
  config.data.workers = 2;
  config.train.steps = 3;  // the last is replayed
  const Outcome host = train(config);
  config.data.decoder = Decoder::gpu;
  const Outcome device = train(config);
  EXPECT_FALSE(host.result.device_decoded);
  EXPECT_GT(device.result.device_decoded.value(), 0);
  EXPECT_LE(difference(device.result.losses, host.result.losses), 0.02);
}

}  // namespace
}  // namespace ptrain

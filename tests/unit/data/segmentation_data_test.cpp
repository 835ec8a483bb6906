// Images with label maps: their three layouts, the transform of both, and how bad ones are refused.
#include "core/data/factory.h"
#include "core/data/image/png_image.h"
#include "core/data/image/segmentation_transform.h"
#include "core/data/tensor_names.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace ptrain {
namespace {

constexpr int test_width = 16, test_height = 12;
const std::vector<std::array<std::uint8_t, 3>> test_palette(256, {9, 9, 9});

/// 0 in the left half, 1 in the right half, 255 in the first row.
std::vector<std::uint8_t> halves() {
  std::vector<std::uint8_t> values;
  for (int y = 0; y < test_height; ++y) {
    for (int x = 0; x < test_width; ++x) values.push_back(y == 0 ? 255 : x < test_width / 2 ? 0 : 1);
  }
  return values;
}

std::vector<std::uint8_t> label_png(std::vector<std::uint8_t> values = halves()) {
  return encode_png_indices({test_width, test_height, std::move(values)}, test_palette);
}

std::vector<std::uint8_t> image_png(int columns = test_width) {
  return encode_png(make_picture(columns, test_height), columns, test_height);
}

void write_pair(const TemporaryDirectory& directory, const std::string& image, const std::string& labels) {
  directory.write(image, image_png());
  directory.write(labels, label_png());
}

DataSettings folder_settings(const TemporaryDirectory& directory) {
  return {.source = "mask_folder",
          .path = directory.path().string(),
          .targets = {tensor_names::masks},
          .image_size = ImageSize(test_height, test_width),
          .classes = 2};
}

std::vector<std::int32_t> load_mask(const Dataset& data, std::int64_t index = 0, std::uint64_t epoch = 0) {
  return get_values<std::int32_t>(load_sample(data, index, SampleRandom(0, epoch, index)), tensor_names::masks);
}

std::vector<std::int32_t> expected_mask() {
  std::vector<std::int32_t> mask;
  for (const std::uint8_t value : halves()) mask.push_back(value == 255 ? -1 : value);
  return mask;
}

TEST(SegmentationData, ReadsPalettesByNumberAndGreyLevelsAsTheyAre) {
  std::vector<std::uint8_t> grey;
  for (const std::uint8_t value : halves()) grey.insert(grey.end(), 3, value);
  EXPECT_EQ(decode_png_indices(label_png(), "a.png").values, halves());
  EXPECT_EQ(decode_png_indices(encode_png(grey, test_width, test_height, 0, 8), "b.png").values, halves());
  EXPECT_EQ(get_error_message([] { decode_png_indices(image_png(), "c.png"); }),
            "c.png: no label map: expected class numbers as grey levels of up to 8 bits or as a palette's");
  EXPECT_EQ(get_error_message([] { decode_png_indices(encode_jpeg(make_picture(8, 8), 8, 8, JpegKind::rgb), "d"); }),
            "d: no label map: expected a PNG");
}

TEST(SegmentationData, ReadsTwoFoldersInBothOrders) {
  for (const bool below : {false, true}) {
    const TemporaryDirectory directory;
    for (const std::string split : {"train", "val"}) {
      write_pair(directory, below ? "images/" + split + "/a.png" : split + "/a.png",
                 below ? "labels/" + split + "/a.png" : split + "annot/a.png");
    }
    for (const Split split : {Split::train, Split::eval}) {
      EXPECT_EQ(open_dataset(folder_settings(directory), split)->size(), 1);
    }
    const auto data = open_dataset(folder_settings(directory), Split::eval);
    EXPECT_EQ(load_mask(*data), expected_mask());
    EXPECT_EQ(get_values<std::uint8_t>(load_sample(*data, 0, SampleRandom(0, 0, 0)), tensor_names::images),
              make_picture(test_width, test_height));
  }
}

TEST(SegmentationData, LeavesOutTheNumberThatIsIgnored) {
  const TemporaryDirectory directory;
  write_pair(directory, "train/a.png", "trainannot/a.png");
  std::vector<std::uint8_t> values = halves();
  std::ranges::replace(values, 255, 2);
  directory.write("trainannot/a.png", label_png(values));
  DataSettings settings = folder_settings(directory);
  settings.augment = Augmentation::none;
  EXPECT_EQ(get_error_message([&] { load_mask(*open_dataset(settings, Split::train)); }),
            (directory / "trainannot/a.png").string() +
                ": label 2 at column 0, row 0: expected below 2, the number of classes, or data.ignore_index");
  settings.ignore_index = 2;
  EXPECT_EQ(load_mask(*open_dataset(settings, Split::train)), expected_mask());
}

/// A sample in a batch of one, as evaluations read it.
Batch load_batch(const Dataset& data) {
  Batch batch(data.tensors({}), 1);
  Scratch scratch;
  data.load(0, SampleRandom(0, 0, 0), scratch, SampleRow(batch, 0));
  return batch;
}

TEST(SegmentationData, WithoutAPixelThatCountsIsRefusedAndMissingClassesAreNoted) {
  const TemporaryDirectory directory;
  const auto open_with = [&](std::uint8_t value, Split split) {
    for (const std::string folder : {"train", "val"}) {
      directory.write(folder + "/a.png", image_png());
      directory.write(folder + "annot/a.png",
                      label_png(std::vector<std::uint8_t>(std::size_t{test_width * test_height}, value)));
    }
    return open_dataset(folder_settings(directory), split);
  };
  for (const Split split : {Split::train, Split::eval}) {
    EXPECT_NE(get_error_message([&] { open_with(255, split); }).find("has a class: all are data.ignore_index (255)"),
              std::string::npos);
  }
  const auto notes = open_with(1, Split::train)->notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("no pixel of class 0 in 1 of 1 training label map"), std::string::npos) << notes[0];
  EXPECT_TRUE(open_with(1, Split::eval)->notes().empty());
}

TEST(SegmentationData, KeepsLabelMapsAtTheirSizeForEvaluation) {
  const TemporaryDirectory directory;
  write_pair(directory, "train/a.png", "trainannot/a.png");
  write_pair(directory, "val/a.png", "valannot/a.png");
  DataSettings settings = folder_settings(directory);
  EXPECT_TRUE(load_batch(*open_dataset(settings, Split::eval)).label_maps.at(0).empty()) << "the mask has all of it";
  settings.image_size = ImageSize(test_height / 2, test_width / 2);
  const PixelClasses map = load_batch(*open_dataset(settings, Split::eval)).label_maps.at(0);
  EXPECT_EQ(map.size, ImageSize(test_height, test_width));
  EXPECT_EQ(map.classes, expected_mask());
  EXPECT_TRUE(load_batch(*open_dataset(settings, Split::train)).label_maps.at(0).empty()) << "nobody reads it";
}

TEST(SegmentationData, HoldsOutAPartOfTheTrainingImages) {
  const TemporaryDirectory directory;
  for (int i = 0; i < 10; ++i) {
    write_pair(directory, fmt::format("train/{}.png", i), fmt::format("trainannot/{}.png", i));
  }
  DataSettings settings = folder_settings(directory);
  EXPECT_NE(get_error_message([&] { open_dataset(settings, Split::eval); }).find("data.split.dev"), std::string::npos);
  settings.dev_fraction = 0.2;
  EXPECT_EQ(open_dataset(settings, Split::train)->size(), 8);
  EXPECT_EQ(open_dataset(settings, Split::eval)->size(), 2);
}

TEST(SegmentationData, ReadsVocAndCityscapes) {
  const TemporaryDirectory directory;
  directory.write("ImageSets/Segmentation/train.txt", std::string("2007_1\n2007_2\n"));
  directory.write("ImageSets/Segmentation/val.txt", std::string("2007_3\n"));
  for (const std::string name : {"2007_1", "2007_2", "2007_3"}) {
    directory.write("JPEGImages/" + name + ".jpg",
                    encode_jpeg(make_picture(test_width, test_height), test_width, test_height, JpegKind::rgb));
    directory.write("SegmentationClass/" + name + ".png", label_png());
  }
  for (const std::string split : {"train", "val"}) {
    write_pair(directory, "leftImg8bit/" + split + "/ulm/ulm_1_leftImg8bit.png",
               "gtFine/" + split + "/ulm/ulm_1_gtFine_labelTrainIds.png");
  }
  DataSettings settings = folder_settings(directory);
  settings.classes = 0;
  settings.source = "voc_segmentation";
  EXPECT_EQ(open_dataset(settings, Split::train)->size(), 2);
  EXPECT_EQ(open_dataset(settings, Split::eval)->info().classes, 21);
  EXPECT_EQ(load_mask(*open_dataset(settings, Split::eval)), expected_mask());
  settings.source = "cityscapes";
  EXPECT_EQ(open_dataset(settings, Split::train)->info().class_names.back(), "bicycle");
  EXPECT_EQ(load_mask(*open_dataset(settings, Split::eval)), expected_mask());
}

TEST(SegmentationData, RefusesWhatDoesNotBelongTogether) {
  const TemporaryDirectory directory;
  write_pair(directory, "train/a.png", "trainannot/a.png");
  write_pair(directory, "val/a.png", "valannot/b.png");
  const DataSettings settings = folder_settings(directory);
  EXPECT_EQ(get_error_message([&] { open_dataset(settings, Split::eval); }),
            fmt::format("{}: has no label map; expected {}", (directory / "val/a.png").string(),
                        (directory / "valannot/a.png").string()));
  directory.write("train/a.png", image_png(test_width + 1));
  EXPECT_EQ(get_error_message([&] { load_mask(*open_dataset(settings, Split::train)); }),
            fmt::format("{}: has 16 x 12 px, but its image {} has 17 x 12", (directory / "trainannot/a.png").string(),
                        (directory / "train/a.png").string()));
  std::filesystem::remove(directory / "train/a.png");
  EXPECT_EQ(get_error_message([&] { open_dataset(settings, Split::train); }),
            (directory / "train").string() + ": has no images");
  DataSettings unnamed = settings;
  unnamed.classes = 0;
  EXPECT_NE(get_error_message([&] { open_dataset(unnamed, Split::train); }).find("data.labels: expected the names"),
            std::string::npos);
}

constexpr std::array<std::int32_t, 256> as_they_are = [] {
  std::array<std::int32_t, 256> classes{};
  std::iota(classes.begin(), classes.end(), 0);
  return classes;
}();

/// An image whose red is its label's value.
struct Pair {
  std::vector<std::uint8_t> pixels;
  IndexImage labels;
  DecodedImage image;

  Pair(int columns, int rows) : labels{columns, rows, {}} {
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        const auto value = static_cast<std::uint8_t>(10 + 8 * (x / 4) + 64 * (y / 8));
        labels.values.push_back(value);
        pixels.insert(pixels.end(), {value, 0, 0});
      }
    }
    image = {columns, rows, {pixels.data(), static_cast<std::size_t>(columns) * 3, 0, 0}};
  }
};

TEST(SegmentationTransform, MovesImageAndLabelsAlike) {
  const Pair pair(48, 24);
  const ImageSize frame(20, 40);
  Scratch scratch;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(frame.pixels()) * 3);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(frame.pixels()));
  const SegmentationTransform transform(frame, Augmentation::random_resized_crop, {99, 98, 97});
  int mirrored = 0, padded = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    SampleRandom random(1, 0, i);
    const FramePlacement place = transform.plan({24, 48}, random);
    EXPECT_GE(place.resized.width, 20) << "half of the 40 that fit";
    EXPECT_LE(place.resized.width, 80);
    EXPECT_NEAR(place.resized.height * 2, place.resized.width, 1.5);
    mirrored += place.mirror == Mirror::horizontal ? 1 : 0;
    padded += place.resized.width < frame.width ? 1 : 0;
    transform.apply(pair.image, place, scratch, pixels);
    transform.apply(pair.labels, place, as_they_are, labels);
    int close = 0, filled = 0;
    for (std::size_t p = 0; p < labels.size(); ++p) {
      if (labels[p] == no_class) {
        EXPECT_EQ(pixels[3 * p], 99);
        continue;
      }
      EXPECT_EQ(pixels[3 * p + 1], 0) << "no padding";
      ++filled;
      close += std::abs(pixels[3 * p] - labels[p]) <= 8 ? 1 : 0;  // but at steps of 64, which are smoothed
    }
    EXPECT_EQ(filled, std::min(frame.width, place.resized.width) * std::min(frame.height, place.resized.height));
    EXPECT_GT(close, filled * 7 / 10) << i;
  }
  EXPECT_GT(mirrored, 10);
  EXPECT_LT(mirrored, 30);
  EXPECT_GT(padded, 5);
}

TEST(SegmentationTransform, EvaluationFitsTheImage) {
  const Pair pair(30, 60);
  const SegmentationTransform transform(ImageSize(40, 40), Augmentation::none, {0, 0, 0});
  SampleRandom random(0, 0, 0);
  const FramePlacement place = transform.plan({60, 30}, random);
  EXPECT_EQ(place.resized, ImageSize(40, 20));
  std::vector<std::int32_t> labels(40 * 40);
  transform.apply(pair.labels, place, as_they_are, labels);
  EXPECT_EQ(labels[19], pair.labels.values[29]);
  EXPECT_EQ(labels[20], no_class);
}

}  // namespace
}  // namespace ptrain

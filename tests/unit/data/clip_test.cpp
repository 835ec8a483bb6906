// Clips: which frames are read, what their frames share, and what is said of those that cannot be read.
#include "core/data/image/clip.h"

#include "core/data/loader/loader.h"
#include "core/data/tensor_names.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

using Frames = std::vector<int>;

Frames middle(int frames, int segments) {
  return chosen_frames(frames, {segments}, FrameChoice::middle, SampleRandom(0, 0, 0));
}

// The expected numbers are numpy's, by mmaction2's formula: (arange(K) * n / K + n / K / 2).astype(int32).
TEST(Clip, EvaluationsReadTheFrameInTheMiddleOfEachSegment) {
  EXPECT_EQ(middle(3, 3), (Frames{0, 1, 2}));
  EXPECT_EQ(middle(10, 3), (Frames{1, 5, 8}));
  EXPECT_EQ(middle(7, 1), (Frames{3}));
  EXPECT_EQ(middle(300, 8), (Frames{18, 56, 93, 131, 168, 206, 243, 281}));
}

// mmaction2's: arange(K) * (n // K) + randint(n // K).
TEST(Clip, TrainingDrawsAnyFrameOfEachSegment) {
  constexpr int frames = 11, segments = 3, length = 3;  // the last two are of no segment
  std::vector<std::set<int>> seen(segments);
  for (std::uint64_t epoch = 0; epoch < 60; ++epoch) {
    const Frames drawn = chosen_frames(frames, {segments}, FrameChoice::drawn, SampleRandom(1, epoch, 5));
    ASSERT_EQ(drawn.size(), 3u);
    for (int i = 0; i < segments; ++i) seen[static_cast<std::size_t>(i)].insert(drawn[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < segments; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], (std::set<int>{i * length, i * length + 1, i * length + 2})) << i;
  }
  const SampleRandom random(1, 2, 3);
  EXPECT_EQ(chosen_frames(200, {8}, FrameChoice::drawn, random), chosen_frames(200, {8}, FrameChoice::drawn, random));
}

TEST(Clip, SeveralFramesOfASegmentAreSuccessiveAndInItsMiddle) {
  const auto middle_of = [](int frames, const ClipForm& form) {
    return chosen_frames(frames, form, FrameChoice::middle, SampleRandom(0, 0, 0));
  };
  EXPECT_EQ(middle_of(15, {3, 5}), (Frames{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
  EXPECT_EQ(middle_of(40, {2, 5}), (Frames{8, 9, 10, 11, 12, 28, 29, 30, 31, 32}));
  EXPECT_EQ(middle_of(11, {2, 4}), (Frames{0, 1, 2, 3, 6, 7, 8, 9}));
}

TEST(Clip, SeveralFramesOfASegmentBeginAnywhereThatLeavesThemInIt) {
  constexpr int frames = 17, length = 8;
  std::vector<std::set<int>> first(2);
  for (std::uint64_t epoch = 0; epoch < 60; ++epoch) {
    const Frames drawn = chosen_frames(frames, {2, 5}, FrameChoice::drawn, SampleRandom(1, epoch, 5));
    ASSERT_EQ(drawn.size(), 10u);
    for (std::size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i], drawn[i / 5 * 5] + static_cast<int>(i % 5));
    for (std::size_t i = 0; i < 2; ++i) first[i].insert(drawn[i * 5]);
  }
  EXPECT_EQ(first[0], (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(first[1], (std::set<int>{length, length + 1, length + 2, length + 3}));
}

class ClipFolder : public ::testing::Test {
 protected:
  /// `frames` frames, of one grey each: 10 times their number, and 5.
  void write_clip(const std::string& name, int frames) {
    for (int i = 0; i < frames; ++i) {
      const std::vector<std::uint8_t> grey(16 * 16 * 3, static_cast<std::uint8_t>(10 * i + 5));
      directory_.write(fmt::format("{}/{:03d}.png", name, i), encode_png(grey, 16, 16, 2, 8));
    }
  }
  DataSettings settings(Augmentation augment = Augmentation::none) const {
    return {.source = "clip_folder",
            .path = directory_.path().string(),
            .image_size = 16,
            .segments = 3,
            .augment = augment};
  }
  std::string refusal() const {
    return get_error_message([&] { open_dataset(settings(), Split::train); });
  }

  TemporaryDirectory directory_;
};

/// The frames' numbers, by their grey.
Frames get_numbers(const LoadedImage& clip) {
  Frames numbers;
  for (std::size_t i = 0; i < clip.pixels.size(); i += 16 * 16 * 3) numbers.push_back((clip.pixels[i] - 5) / 10);
  return numbers;
}

TEST_F(ClipFolder, ReadsFramesInTheOrderOfTheirNames) {
  for (const std::string split : {"train", "val"}) {
    write_clip(split + "/run/b", 9);
    write_clip(split + "/jump/a", 10);
    directory_.write(split + "/jump/a/notes.txt", std::string("no frame"));
    directory_.write(split + "/jump/.hidden/0.png", std::string("no clip"));
  }
  const auto eval = open_dataset(settings(), Split::eval);
  EXPECT_EQ(eval->size(), 2);
  EXPECT_EQ(eval->info().frames, 3);
  EXPECT_EQ(eval->info().class_names, (std::vector<std::string>{"jump", "run"}));
  EXPECT_EQ(load_image(*eval, 1).label, 1);
  EXPECT_EQ(get_numbers(load_image(*eval, 0)), (Frames{1, 5, 8}));
  EXPECT_EQ(get_numbers(load_image(*eval, 1)), (Frames{1, 4, 7}));
  EXPECT_EQ(eval->origin(0).file, (directory_.path() / "val/jump/a").string());

  const auto train = open_dataset(settings(), Split::train);
  std::set<Frames> seen;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) seen.insert(get_numbers(load_image(*train, 1, epoch)));
  EXPECT_GT(seen.size(), 8u) << "of 27";
  for (const Frames& frames : seen) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(frames[static_cast<std::size_t>(i)] / 3, i);
  }
  EXPECT_EQ(load_image(*train, 1, 7).pixels, load_image(*train, 1, 7).pixels);
}

TEST_F(ClipFolder, ReadsSuccessiveFramesOfEachSegment) {
  write_clip("train/run/a", 12);
  write_clip("val/run/b", 12);
  DataSettings stacked = settings();
  stacked.segments = 2;
  stacked.frames_per_segment = 4;
  const auto eval = open_dataset(stacked, Split::eval);
  EXPECT_EQ(eval->info().frames, 8);
  EXPECT_EQ(get_numbers(load_image(*eval, 0)), (Frames{1, 2, 3, 4, 7, 8, 9, 10}));
  const auto train = open_dataset(stacked, Split::train);
  std::set<Frames> seen;
  for (std::uint64_t epoch = 0; epoch < 40; ++epoch) seen.insert(get_numbers(load_image(*train, 0, epoch)));
  EXPECT_EQ(seen.size(), 9u) << "three beginnings in each segment";
}

TEST_F(ClipFolder, FramesOfAClipShareCropAndFlip) {
  const auto picture = encode_jpeg(make_picture(64, 48), 64, 48, JpegKind::rgb);
  for (int i = 0; i < 6; ++i) directory_.write(fmt::format("train/run/a/{}.jpg", i), picture);
  for (const Augmentation augment : {Augmentation::crop_flip, Augmentation::random_resized_crop}) {
    const auto data = open_dataset(settings(augment), Split::train);
    constexpr std::ptrdiff_t image = 16 * 16 * 3;
    std::set<std::vector<std::uint8_t>> seen;
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      const std::vector<std::uint8_t> pixels = load_image(*data, 0, epoch).pixels;
      const auto begin = pixels.begin();
      EXPECT_TRUE(std::equal(begin, begin + image, begin + image)) << epoch;
      EXPECT_TRUE(std::equal(begin, begin + image, begin + 2 * image)) << epoch;
      seen.insert(pixels);
    }
    EXPECT_GT(seen.size(), 2u) << "others each epoch";
  }
}

TEST_F(ClipFolder, SaysWhatItExpected) {
  EXPECT_NE(refusal().find("has no directory train"), std::string::npos);
  directory_.write("train/run/0.jpg", std::string("an image, no clip"));
  EXPECT_NE(refusal().find("train/run: the class has no samples, but 1 .jpg; expected <clip>/*.jpg"), std::string::npos)
      << refusal();
  write_clip("train/run/long", 3);
  std::filesystem::create_directories(directory_.path() / "train/walk");
  EXPECT_NE(refusal().find("train/walk: the class has no samples"), std::string::npos) << refusal();
  std::filesystem::remove(directory_.path() / "train/walk");
  EXPECT_EQ(refusal(), "");
  write_clip("train/run/short", 2);
  EXPECT_EQ(refusal(),
            (directory_.path() / "train/run/short").string() +
                ": has 2 frames (*.jpg, .jpeg, .jfif, .png, .webp or .bmp), expected at least 3 (model.segments)");
  DataSettings stacked = settings();
  stacked.frames_per_segment = 5;
  EXPECT_EQ(get_error_message([&] { open_dataset(stacked, Split::train); }),
            (directory_.path() / "train/run/long").string() +
                ": has 3 frames (*.jpg, .jpeg, .jfif, .png, .webp or .bmp), expected at least 15 (model.segments times "
                "model.frames_per_segment)");
  DataSettings none = settings();
  none.segments = 0;
  EXPECT_NE(get_error_message([&] { open_dataset(none, Split::train); }).find("at least 1 segment"), std::string::npos);
}

TEST_F(ClipFolder, NamesTheFrameThatCannotBeRead) {
  write_clip("train/run/a", 3);
  const auto data = open_dataset(settings(), Split::train);
  directory_.write("train/run/a/001.png", std::string("garbage"));
  EXPECT_THROW(load_image(*data, 0), BadSample);
  EXPECT_NE(get_error_message([&] { load_image(*data, 0); }).find("run/a/001.png: not a JPEG, PNG"), std::string::npos);
  std::filesystem::remove(directory_.path() / "train/run/a/001.png");
  EXPECT_THROW(load_image(*data, 0), BadSample) << "fewer frames than when it was opened";
  std::filesystem::create_directories(directory_.path() / "train/run/a/001.png");
  EXPECT_THROW(load_image(*data, 0), BadSample) << "no file";
}

TEST_F(ClipFolder, LoaderHandsOverClipsAndPassesOverBadOnes) {
  for (int i = 0; i < 4; ++i) write_clip(fmt::format("train/run/{}", i), 3);
  const auto data = open_dataset(settings(), Split::train);
  directory_.write("train/run/2/000.png", std::string("garbage"));
  LoaderOptions options;
  options.batch_size = 4;
  options.max_bad_samples = 1;
  Loader loader(*data, options);
  const Batch& batch = loader.next();
  EXPECT_EQ(batch.count, 4);
  const HostTensor& images = batch.at(tensor_names::images);
  ASSERT_EQ(images.shape(), (Shape{4, 3, 16, 16, 3}));
  EXPECT_EQ(find_image_size(batch), 16);
  for (std::size_t image = 0; image < 12; ++image) {
    EXPECT_EQ(images.values<std::uint8_t>()[image * 16 * 16 * 3], 10 * (image % 3) + 5) << image;
  }
  EXPECT_EQ(loader.bad_samples().count, 1);
  EXPECT_NE(loader.bad_samples().first.at(0).find("2/000.png"), std::string::npos);
}

TEST_F(ClipFolder, ErasesTheSameOfEveryFrame) {
  const auto picture = encode_jpeg(make_picture(64, 48), 64, 48, JpegKind::rgb);
  for (int i = 0; i < 3; ++i) directory_.write(fmt::format("train/run/a/{}.jpg", i), picture);
  const auto data = open_dataset(settings(), Split::train);
  LoaderOptions options;
  options.images.erasing = 1;
  options.images.trivial_augment = true;
  Loader loader(*data, options);
  std::set<std::vector<std::uint8_t>> seen;
  for (int epoch = 0; epoch < 5; ++epoch) {
    const auto pixels = loader.next().values<std::uint8_t>(tensor_names::images);
    seen.emplace(pixels.begin(), pixels.end());
    constexpr std::ptrdiff_t image = 16 * 16 * 3;
    EXPECT_TRUE(std::equal(pixels.begin(), pixels.begin() + image, pixels.begin() + image)) << epoch;
    EXPECT_TRUE(std::equal(pixels.begin(), pixels.begin() + image, pixels.begin() + 2 * image)) << epoch;
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST(SyntheticClips, BeginAsTheImageAndMoveOn) {
  DataSettings settings{.source = "synthetic", .image_size = 16, .classes = 4};
  const std::vector<std::uint8_t> image = load_image(*open_dataset(settings, Split::train), 5).pixels;
  settings.segments = 3;
  const auto clips = open_dataset(settings, Split::train);
  EXPECT_EQ(clips->info().frames, 3);
  const std::vector<std::uint8_t> clip = load_image(*clips, 5).pixels;
  ASSERT_EQ(clip.size(), 3 * image.size());
  const auto frame = [&](std::ptrdiff_t i) {
    const auto size = static_cast<std::ptrdiff_t>(image.size());
    return std::vector(clip.begin() + i * size, clip.begin() + (i + 1) * size);
  };
  EXPECT_EQ(frame(0), image);
  EXPECT_NE(frame(1), image);
  EXPECT_NE(frame(2), frame(1));
}

}  // namespace
}  // namespace ptrain

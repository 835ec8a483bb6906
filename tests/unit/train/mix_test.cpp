#include "core/train/input/mix.h"

#include "core/data/tensor_names.h"

#include "tests/unit/train/data_parallel.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain {
namespace {

using namespace testing;

constexpr std::int64_t seed = 42;

/// Rows of 8 x 8 px, each of one grey, which is ten times its label.
Batch greys(const std::vector<int>& values) {
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> pixels;
  for (const int value : values) {
    labels.push_back(value / 10);
    pixels.insert(pixels.end(), 8 * 8 * 3, static_cast<std::uint8_t>(value));
  }
  Batch batch;
  batch.add(tensor_names::labels, {}, labels);
  batch.add(tensor_names::images, {8, 8, 3}, pixels);
  batch.count = batch.rows();
  return batch;
}

std::vector<std::int32_t> get_labels(const Batch& batch, const char* name = tensor_names::labels) {
  const auto labels = batch.values<std::int32_t>(name);
  return {labels.begin(), labels.end()};
}

std::span<const std::uint8_t> get_pixels(const Batch& batch) {
  return batch.values<std::uint8_t>(tensor_names::images);
}

TEST(Mix, AddsEachRowToTheOneBeforeIt) {
  Batch batch = greys({10, 20, 40});
  MixDraw draw;
  draw.share = 0.75;
  batch = mix_rows(batch, draw);
  EXPECT_EQ(get_labels(batch), (std::vector<std::int32_t>{1, 2, 4}));
  EXPECT_EQ(get_labels(batch, tensor_names::mixup_labels), (std::vector<std::int32_t>{4, 1, 2}));
  ASSERT_EQ(batch.common().size(), 1u);
  EXPECT_EQ(batch.common()[0].tensor.values<float>()[0], 0.75f);
  EXPECT_EQ(get_pixels(batch)[0], 18) << "17.5";
  EXPECT_EQ(get_pixels(batch)[8 * 8 * 3], 18) << "17.5";
  EXPECT_EQ(get_pixels(batch)[2 * 8 * 8 * 3], 35);
}

TEST(Mix, CutsARectangleOutOfTheOther) {
  Batch batch = greys({10, 20});
  MixDraw draw;
  draw.cut = true;
  draw.left = 2, draw.right = 5, draw.top = 1, draw.bottom = 3;
  draw.share = 1 - 6.0 / 64;
  batch = mix_rows(batch, draw);
  EXPECT_EQ(std::ranges::count(get_pixels(batch).first(8 * 8 * 3), 20), 6 * 3);
  EXPECT_EQ(get_pixels(batch)[3 * (1 * 8 + 2)], 20);
  EXPECT_EQ(get_pixels(batch)[3 * (1 * 8 + 5)], 10);
  EXPECT_EQ(get_pixels(batch)[3 * (3 * 8 + 2)], 10);
}

TEST(Mix, CutsTheSameRectangleOutOfEveryFrameOfAClip) {
  const Batch frames = greys({10, 20, 30, 40});
  Batch batch;
  batch.add(tensor_names::labels, {}, std::vector<std::int32_t>{1, 3});  // of two clips of two frames
  batch.add(tensor_names::images, {2, 8, 8, 3}, std::vector(get_pixels(frames).begin(), get_pixels(frames).end()));
  batch.count = 2;
  MixDraw draw;
  draw.cut = true;
  draw.left = 2, draw.right = 5, draw.top = 1, draw.bottom = 3;
  batch = mix_rows(batch, draw);
  EXPECT_EQ(get_labels(batch, tensor_names::mixup_labels), (std::vector<std::int32_t>{3, 1}));
  constexpr std::size_t image = 8 * 8 * 3;
  const std::uint8_t own[] = {10, 20, 30, 40}, other[] = {30, 40, 10, 20};
  for (std::size_t frame = 0; frame < 4; ++frame) {
    const auto begin = get_pixels(batch).begin() + static_cast<std::ptrdiff_t>(frame * image);
    EXPECT_EQ(std::count(begin, begin + image, other[frame]), 6 * 3) << frame;
    EXPECT_EQ(std::count(begin, begin + image, own[frame]), image - 6 * 3) << frame;
    EXPECT_EQ(begin[3 * (1 * 8 + 2)], other[frame]);
  }
}

TEST(Mix, LeavesPaddingAndSingleRowsAlone) {
  Batch batch = greys({10, 20, 30});
  batch.count = 1;
  const std::vector<std::uint8_t> before(get_pixels(batch).begin(), get_pixels(batch).end());
  MixDraw draw;
  draw.share = 0.5;
  batch = mix_rows(batch, draw);
  EXPECT_TRUE(std::ranges::equal(get_pixels(batch), before));
  EXPECT_EQ(get_labels(batch, tensor_names::mixup_labels)[0], get_labels(batch)[0]);
}

TEST(Mix, DrawsSharesFromBeta) {
  for (const double a : {0.2, 1.0, 2.0}) {
    TrainConfig train;
    train.mixup = a;
    double mean = 0, squares = 0;
    constexpr int draws = 20000;
    for (int i = 0; i < draws; ++i) {
      const double share = draw_mix(train, seed, 32, 3, i).share;
      mean += share / draws;
      squares += share * share / draws;
    }
    EXPECT_NEAR(mean, 0.5, 0.01) << a;
    EXPECT_NEAR(squares - mean * mean, 1 / (4 * (2 * a + 1)), 0.005) << a;  // Beta(a, a)'s variance
  }
}

TEST(Mix, GivesRectanglesTheSizeOfTheirShare) {
  TrainConfig train;
  train.cutmix = 1;
  int cut_off = 0;
  for (int i = 0; i < 2000; ++i) {
    const MixDraw draw = draw_mix(train, seed, 32, 1, i);
    EXPECT_TRUE(draw.cut);
    EXPECT_GE(draw.left, 0);
    EXPECT_LE(draw.bottom, 32);
    EXPECT_DOUBLE_EQ(draw.share, 1 - (draw.right - draw.left) * (draw.bottom - draw.top) / 1024.0);
    cut_off += draw.right - draw.left != draw.bottom - draw.top;
  }
  EXPECT_GT(cut_off, 200) << "those at the border";
  train.mixup = 0.2;
  int cuts = 0;
  for (int i = 0; i < 2000; ++i) cuts += draw_mix(train, seed, 32, 1, i).cut;
  EXPECT_NEAR(cuts, 1000, 120);
}

TEST(Mix, CutsRectanglesOfTheImagesOwnShape) {
  TrainConfig train;
  train.cutmix = 1;
  int widest = 0, highest = 0;
  for (int i = 0; i < 2000; ++i) {
    const MixDraw draw = draw_mix(train, seed, {16, 48}, 1, i);
    EXPECT_LE(draw.bottom, 16);
    EXPECT_LE(draw.right, 48);
    EXPECT_DOUBLE_EQ(draw.share, 1 - (draw.right - draw.left) * (draw.bottom - draw.top) / (16 * 48.0));
    widest = std::max(widest, draw.right - draw.left), highest = std::max(highest, draw.bottom - draw.top);
  }
  EXPECT_GT(widest, 40);
  EXPECT_GT(highest, 13);

  Batch batch;  // two images of two rows and five columns
  std::vector<std::uint8_t> pixels(std::size_t{2} * 2 * 5 * 3, 10);
  std::fill(pixels.begin() + 2 * 5 * 3, pixels.end(), std::uint8_t{20});
  batch.add(tensor_names::labels, {}, std::vector<std::int32_t>{0, 1});
  batch.add(tensor_names::images, {2, 5, 3}, pixels);
  batch.count = 2;
  MixDraw draw;
  draw.cut = true;
  draw.left = 3, draw.right = 5, draw.top = 1, draw.bottom = 2;
  batch = mix_rows(batch, draw);
  std::vector<int> columns;
  for (std::size_t at = 0; at < 10; ++at) columns.push_back(get_pixels(batch)[3 * at]);
  EXPECT_EQ(columns, (std::vector<int>{10, 10, 10, 10, 10, 10, 10, 10, 20, 20}));
}

TEST(Mix, TrainsReproduciblyAndResumes) {
  Config config = resnet_config();
  config.train.mixup = 0.4;
  config.train.cutmix = 1;
  expect_resumes_exactly(config, 3, 10);
  config.train.steps = 10;
  EXPECT_EQ(losses(config), losses(config));
  Config plain = config;
  plain.train.mixup = plain.train.cutmix = 0;
  EXPECT_NE(losses(config), losses(plain));
}

TEST(Mix, IsThatOfTheWholeStepOnTwoRanks) {
  Config config = resnet_config();
  config.train.mixup = 0.4;
  config.dist.reproducible = true;
  const std::vector<double> two = train_on_ranks(config, 2).front().result.losses;
  config.train.accumulate_steps = 2;
  EXPECT_EQ(two, losses(config));
}

TEST(Mix, LearnsAndEvaluatesPlainImages) {
  Config config = resnet_config();
  config.data.synthetic_samples = 256;
  config.train.steps = 120;
  config.train.mixup = 0.2;
  config.eval.every_epochs = 100;
  EXPECT_GT(get_value(train(config).result.evaluations.at(0), "top1"), 0.5);
}

}  // namespace
}  // namespace ptrain

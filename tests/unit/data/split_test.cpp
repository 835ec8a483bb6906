// Evaluation samples taken from the training samples.
#include "core/data/split.h"
#include "core/data/tensor_names.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <numeric>

namespace ptrain {
namespace {

DataSettings with_share(double share, std::uint64_t seed = 42) {
  DataSettings settings;
  settings.dev_fraction = share;
  settings.seed = seed;
  return settings;
}

/// 60 samples of class 0, 30 of class 1, 10 of class 2, one of class 3, mixed.
std::vector<std::int32_t> mixed_labels() {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 10; ++i) labels.insert(labels.end(), {0, 0, 1, 0, 0, 1, 0, 2, 1, 0});
  labels.push_back(3);
  return labels;
}

std::vector<std::int64_t> get_counts(const std::vector<std::int64_t>& part, const std::vector<std::int32_t>& labels) {
  std::vector<std::int64_t> counts(4);
  for (const std::int64_t i : part) ++counts[static_cast<std::size_t>(labels[static_cast<std::size_t>(i)])];
  return counts;
}

TEST(StratifiedPart, TakesTheSamePartOfEachClass) {
  const std::vector<std::int32_t> labels = mixed_labels();
  const auto dev = select_stratified_split(labels, with_share(0.2), Split::eval, "data");
  const auto train = select_stratified_split(labels, with_share(0.2), Split::train, "data");
  EXPECT_EQ(get_counts(dev, labels), (std::vector<std::int64_t>{12, 6, 2, 0}));
  EXPECT_EQ(get_counts(train, labels), (std::vector<std::int64_t>{48, 24, 8, 1}));
  std::vector<std::int64_t> both = dev;
  both.insert(both.end(), train.begin(), train.end());
  std::sort(both.begin(), both.end());
  std::vector<std::int64_t> all(labels.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(both, all);
  EXPECT_TRUE(std::is_sorted(dev.begin(), dev.end()));
  EXPECT_EQ(get_counts(select_stratified_split(labels, with_share(0.99), Split::train, "data"), labels),
            (std::vector<std::int64_t>{1, 1, 1, 1}));  // every class is trained on
}

TEST(StratifiedPart, IsDrawnBySeed) {
  const std::vector<std::int32_t> labels = mixed_labels();
  const auto dev = [&](std::uint64_t seed) {
    return select_stratified_split(labels, with_share(0.2, seed), Split::eval, "data");
  };
  EXPECT_EQ(dev(1), dev(1));
  EXPECT_NE(dev(1), dev(2));
  const std::string message =
      get_error_message([&] { select_stratified_split(labels, with_share(0.001), Split::train, "data"); });
  EXPECT_EQ(message, "data.split.dev: 0.001 of the 101 samples in data leaves no samples to evaluate on");
}

TEST(Parting, OfATableKeepsRowsApart) {
  TemporaryDirectory directory;
  DataSettings settings = with_share(0.25);
  settings.source = "tsv";
  settings.path = directory.path().string();
  settings.dev_file = "dev.tsv";
  settings.max_length = 8;
  settings.vocab_path = directory.write("vocab.txt", std::string("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\n"));
  directory.write("train.tsv", std::string("a\tno\nb\tno\nc\tno\nd\tno\na a\tyes\nb b\tyes\nc c\tyes\nd d\tyes\n"));
  std::vector<std::vector<std::int32_t>> seen;
  std::vector<std::int32_t> labels;
  for (const Split split : {Split::train, Split::eval}) {
    const auto data = open_dataset(settings, split);
    EXPECT_EQ(data->size(), split == Split::train ? 6 : 2);
    EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"no", "yes"}));
    for (std::int64_t i = 0; i < data->size(); ++i) {
      const Batch sample = load_sample(*data, i, SampleRandom(0, 0, 0));
      labels.push_back(sample.values<std::int32_t>(tensor_names::labels)[0]);
      EXPECT_EQ(sample.values<std::int32_t>(tensor_names::lengths)[0], labels.back() == 0 ? 3 : 4);  // its own label
      seen.push_back(get_values<std::int32_t>(sample, tensor_names::ids));
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(std::count(labels.end() - 2, labels.end(), 0), 1);
  directory.write("dev.tsv", std::string("a\tno\n"));
  const std::string message = get_error([&] { open_dataset(settings, Split::train); }, ExitCode::usage);
  EXPECT_EQ(message, "data.split.dev: " + (directory.path() / "dev.tsv").string() +
                         " exists for evaluation and would not be read; remove the key or that data");
}

TEST(Parting, OfAFolderAugmentsTrainingImagesOnly) {
  TemporaryDirectory directory;
  const auto png = encode_png(make_picture(24, 24), 24, 24, PNG_COLOR_TYPE_RGB, 8);
  for (const char* name : {"cat", "dog"}) {
    for (int i = 0; i < 10; ++i) directory.write(fmt::format("train/{}/{}.png", name, i), png);
  }
  DataSettings settings = with_share(0.3);
  settings.source = "image_folder";
  settings.path = directory.path().string();
  settings.image_size = 16;
  settings.augment = Augmentation::crop_flip;
  const auto train = open_dataset(settings, Split::train), eval = open_dataset(settings, Split::eval);
  EXPECT_EQ(train->size(), 14);
  EXPECT_EQ(eval->size(), 6);
  const auto pixels = [](const Dataset& data, std::uint64_t epoch) {
    const Batch sample = load_sample(data, 0, SampleRandom(7, epoch, 0));
    const auto image = sample.values<std::uint8_t>(tensor_names::images);
    return std::vector<std::uint8_t>(image.begin(), image.end());
  };
  EXPECT_EQ(pixels(*eval, 0), pixels(*eval, 1));
  EXPECT_NE(pixels(*train, 0), pixels(*train, 1));
  directory.write("val/cat/0.png", png);
  EXPECT_TRUE(get_error([&] { open_dataset(settings, Split::eval); }, ExitCode::usage).starts_with("data.split.dev: "));
}

}  // namespace
}  // namespace ptrain

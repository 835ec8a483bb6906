// Images of texts from lists and from random numbers, and the characters of their texts as classes.
#include "core/data/factory.h"
#include "core/data/matched_classes.h"
#include "core/data/text/character_set.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain {
namespace text_images_test {

using Names = std::vector<std::string>;
using Classes = std::vector<std::int32_t>;

class TextImages : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_.source = "text_images";
    settings_.path = folder_.path().string();
    settings_.train_file = "train.txt";
    settings_.dev_file = "val.txt";
    settings_.image_size = ImageSize(32, 64);
    settings_.max_length = 4;
    settings_.targets = {tensor_names::characters};
  }
  void write_image(const std::string& name, int width, int height) {
    folder_.write(name, encode_jpeg(make_picture(width, height), width, height, JpegKind::rgb));
  }
  std::unique_ptr<Dataset> open(const std::string& list, Split split = Split::train) {
    folder_.write(split == Split::train ? "train.txt" : "val.txt", list);
    return open_dataset(settings_, split);
  }
  /// The message of opening it, without the folder.
  std::string refuse(const std::string& list, Split split = Split::train) {
    std::string message = get_error([&] { open(list, split); });
    const std::string place = folder_.path().string() + "/";
    for (std::size_t at = message.find(place); at != message.npos; at = message.find(place)) {
      message.erase(at, place.size());
    }
    return message;
  }

  const TemporaryDirectory folder_;
  DataSettings settings_;
};

TEST_F(TextImages, HaveTheCharactersOfTheTrainingTextsAsClassesAfterTheBlank) {
  const auto data = open("a.jpg\tbé\r\n\nb.jpg\ta b");
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->info().class_names, (Names{"<blank>", " ", "a", "b", "é"}));
  EXPECT_EQ(data->info().classes, 5);
  EXPECT_EQ(data->origin(1).line, 3);
  write_image("a.jpg", 40, 10);
  write_image("b.jpg", 40, 10);
  const auto characters = [&](std::int64_t index) {
    return get_values<std::int32_t>(load_sample(*data, index, SampleRandom(0, 0, index)), tensor_names::characters);
  };
  EXPECT_EQ(characters(0), (Classes{3, 4, -1, -1}));
  EXPECT_EQ(characters(1), (Classes{2, 1, 3, -1}));
  const auto other = open("a.jpg\tbé\r\n\nb.jpg\ta e");
  EXPECT_NE(other->fingerprint(), data->fingerprint());
}

TEST_F(TextImages, AreResizedInTheirProportionsAndPaddedAtTheRight) {
  const auto data = open("wide.jpg\ta\nhigh.jpg\ta\n");
  write_image("wide.jpg", 200, 50);
  write_image("high.jpg", 20, 20);
  constexpr std::size_t row = 64 * 3;
  const auto is_padding = [&](const std::vector<std::uint8_t>& pixels, std::size_t y, std::size_t x) {
    return pixels[y * row + 3 * x] == 128 && pixels[y * row + 3 * x + 1] == 128;  // the mean
  };
  const auto load = [&](std::int64_t index) {
    return get_values<std::uint8_t>(load_sample(*data, index, SampleRandom(0, 0, index)), tensor_names::images);
  };
  const std::vector<std::uint8_t> wide = load(0), high = load(1);
  EXPECT_FALSE(is_padding(wide, 15, 63));
  EXPECT_TRUE(is_padding(wide, 16, 0) && is_padding(wide, 31, 63));
  EXPECT_FALSE(is_padding(high, 31, 31));
  EXPECT_TRUE(is_padding(high, 0, 32) && is_padding(high, 31, 63));
}

TEST_F(TextImages, TakeTheCharactersOfAFile) {
  settings_.vocab_path = folder_.write("characters.txt", std::string("b\n細\na\n"));
  EXPECT_EQ(open("a.jpg\tab\n")->info().class_names, (Names{"<blank>", "b", "細", "a"}));
  EXPECT_EQ(refuse("a.jpg\tab\nb.jpg\tad\n"),
            "train.txt:2: the text \"ad\" has the character \"d\", which is not in data.vocab (characters.txt)");
  folder_.write("characters.txt", std::string("a\nbc\n"));
  EXPECT_EQ(refuse("a.jpg\ta\n"), "characters.txt:2: expected one character, got \"bc\"");
  folder_.write("characters.txt", std::string("a\nb\na\n"));
  EXPECT_EQ(refuse("a.jpg\ta\n"), "characters.txt:3: \"a\" is on line 1 too: remove one of them");
  folder_.write("characters.txt", std::string(""));
  EXPECT_EQ(refuse("a.jpg\ta\n"), "characters.txt: has no characters; expected one a line");
}

TEST_F(TextImages, RefuseCharactersThatNoTrainingTextHas) {
  open("a.jpg\tab\n");
  EXPECT_EQ(
      refuse("b.jpg\tba\nc.jpg\tabc\n", Split::eval),
      "val.txt:2: the text \"abc\" has the character \"c\", which is not in the texts of train.txt; data.vocab can "
      "name a file with all characters");
}

TEST_F(TextImages, RefuseLinesOfAnotherForm) {
  EXPECT_EQ(refuse("a.jpg\ta\nb.jpg b\n"),
            "train.txt:2: expected the path of an image, a tab and its text, got \"b.jpg b\"");
  EXPECT_EQ(refuse("a.jpg\ta\tb\n"),
            "train.txt:1: expected the path of an image, a tab and its text, got \"a.jpg\\ta\\tb\"");
  EXPECT_EQ(refuse("a.jpg\t\n"), "train.txt:1: \"a.jpg\" has no text: write what the image says, or remove the line");
  EXPECT_EQ(refuse("\n"), "train.txt: lists no image; expected the path of an image, a tab and its text a line");
}

TEST_F(TextImages, LeaveOutTextsThatAreTooLong) {
  const auto data = open("a.jpg\tabcd\nb.jpg\tabcda\nc.jpg\tabcdab\n");
  EXPECT_EQ(data->size(), 1);
  ASSERT_EQ(data->notes().size(), 1U);
  EXPECT_NE(data->notes()[0].find("train.txt:2: 2 texts left out, longer than data.max_length, 4 characters"),
            std::string::npos)
      << data->notes()[0];
  EXPECT_EQ(refuse("a.jpg\tabcda\n"), "train.txt: every text is longer than data.max_length, 4 characters");
}

TEST_F(TextImages, NameAnImageThatIsMissing) {
  const auto data = open("words/a.jpg\ta\n");
  const std::string message = get_error_message([&] { load_sample(*data, 0, SampleRandom(0, 0, 0)); });
  EXPECT_TRUE(message.starts_with((folder_ / "words/a.jpg").string())) << message;
  EXPECT_EQ(message.find('\n'), message.npos);
}

TEST_F(TextImages, AreHeldOutForEvaluation) {
  std::string list;
  for (int i = 0; i < 10; ++i) list += std::to_string(i) + ".jpg\ta\n";
  settings_.dev_fraction = 0.3;
  EXPECT_EQ(open(list)->size(), 7);
  EXPECT_EQ(open_dataset(settings_, Split::eval)->size(), 3);
  folder_.write("val.txt", list);
  EXPECT_NE(get_error([&] { open(list); }, ExitCode::usage).find("data.split.dev: "), std::string::npos);
}

TEST_F(TextImages, OfOtherCharactersThanAModelsAreRefused) {
  EXPECT_EQ(match_classes(open("a.jpg\tab\n"), {"<blank>", "a", "b"}, "model.json")->size(), 1);
  EXPECT_EQ(
      get_error([&] {
        match_classes(open("a.jpg\tab\n"), {"<blank>", "b", "a"}, "model.json");
      }),
      "model.json: has 3 classes of characters in another order than the data, or others; expected the data.vocab "
      "or the training list that it was trained with");
}

TEST(SyntheticWords, AreDrawnInTheFrame) {
  DataSettings settings{
      .source = "synthetic", .image_size = ImageSize(32, 100), .max_length = 24, .synthetic_samples = 40};
  settings.targets = {tensor_names::characters};
  const auto data = open_dataset(settings, Split::train);
  EXPECT_EQ(data->info().classes, 37);
  std::size_t longest = 0;
  for (std::int64_t index = 0; index < data->size(); ++index) {
    const Batch sample = load_sample(*data, index, SampleRandom(0, 0, index));
    const Classes row = get_values<std::int32_t>(sample, tensor_names::characters);
    const auto count = static_cast<std::size_t>(std::ranges::find(row, -1) - row.begin());
    EXPECT_TRUE(std::all_of(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count),
                            [](std::int32_t one) { return one >= 1 && one < 37; }));
    EXPECT_GE(count, 1U);
    longest = std::max(longest, count);
    const auto pixels = get_values<std::uint8_t>(sample, tensor_names::images);
    EXPECT_GT(*std::ranges::max_element(pixels) - *std::ranges::min_element(pixels), 48) << "ink on a background";
  }
  EXPECT_EQ(longest, 8U) << "letters of 12 px";
  settings.classes = 99;
  EXPECT_NE(get_error([&] { open_dataset(settings, Split::train); }, ExitCode::usage).find("model.classes: "),
            std::string::npos);
}

}  // namespace text_images_test
}  // namespace ptrain

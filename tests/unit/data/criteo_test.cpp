// Criteo's lines: what is read, what is refused, and by which words.
#include "core/data/factory.h"
#include "core/data/table/criteo_line.h"
#include "core/data/table/line_index.h"
#include "core/data/tensor_names.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <map>

namespace ptrain {
namespace {

constexpr std::int64_t buckets = 1000;

/// A line whose integers are 1 to 13 and whose words are a0 to a19 in hexadecimal.
std::string get_line(const std::string& label) {
  std::string line = label;
  for (int i = 1; i <= criteo_dense_features; ++i) line += fmt::format("\t{}", i);
  for (int i = 0; i < criteo_categorical_features; ++i) line += fmt::format("\ta{:x}", i);
  return line;
}

std::string with_field(std::string line, int field, const std::string& text) {
  std::size_t begin = 0;
  for (; field > 0; --field) begin = line.find('\t', begin) + 1;
  return line.replace(begin, std::min(line.find('\t', begin), line.size()) - begin, text);
}

struct Row {
  std::int32_t label;
  std::array<float, criteo_dense_features> numbers{};
  std::array<std::int32_t, criteo_categorical_features> ids{};
};

Row parse(const std::string& line) {
  const std::string file = "some/train.tsv";
  Row row;
  row.label = parse_criteo_line(line, {file, 7}, row.numbers, {row.ids, buckets});
  return row;
}

TEST(CriteoLine, IsScaledByPaddleRecsTablesAndNumberedByHash) {
  const Row row = parse(get_line("1"));
  EXPECT_EQ(row.label, 1);
  EXPECT_FLOAT_EQ(row.numbers[0], 1.0f / 20);
  EXPECT_FLOAT_EQ(row.numbers[1], (2.0f + 3) / 603);
  EXPECT_FLOAT_EQ(row.numbers[4], 5.0f / 64000);
  EXPECT_FLOAT_EQ(row.numbers[12], 13.0f / 50);
  for (int i = 0; i < criteo_categorical_features; ++i) {
    EXPECT_EQ(row.ids[static_cast<std::size_t>(i)], category_id(i, fmt::format("a{:x}", i), buckets));
  }
  EXPECT_EQ(parse(get_line("0")).label, 0);
}

TEST(CriteoLine, TakesNegativeIntegersAndEmptyFields) {
  EXPECT_FLOAT_EQ(parse(with_field(get_line("0"), 2, "-2")).numbers[1], (-2.0f + 3) / 603);
  EXPECT_FLOAT_EQ(parse(with_field(get_line("0"), 2, "-3")).numbers[1], 0);
  const std::string empty = "1" + std::string(criteo_dense_features + criteo_categorical_features, '\t');
  const Row row = parse(empty);
  EXPECT_EQ(row.label, 1);
  EXPECT_EQ(row.numbers, (std::array<float, criteo_dense_features>{}));
  EXPECT_EQ(row.ids[25], category_id(25, "", buckets));
  EXPECT_NE(row.ids[25], row.ids[24]);
}

TEST(CriteoLine, NumbersWordsTheSameEverywhere) {
  EXPECT_EQ(category_id(0, "68fd1e64", 1'000'001), 516572);
  EXPECT_EQ(category_id(25, "", 1'000'001), 296767);
  EXPECT_NE(category_id(0, "68fd1e64", 1'000'001), category_id(1, "68fd1e64", 1'000'001));
  std::vector<int> counts(16);  // a power of two, whose remainders are the low bits
  for (int i = 0; i < 16000; ++i) ++counts[static_cast<std::size_t>(category_id(3, fmt::format("{:08x}", i), 16))];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

/// Remainders of the keys of dynamic tables are the rows of others.
TEST(CriteoLine, HasKeysOfItsWordsWhereTheyAreWanted) {
  std::array<float, criteo_dense_features> numbers{};
  std::array<std::int64_t, criteo_categorical_features> keys{};
  parse_criteo_line(get_line("1"), {"some/train.tsv", 7}, numbers, CategoryIds(keys));
  const Row row = parse(get_line("1"));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(static_cast<std::int32_t>(static_cast<std::uint64_t>(keys[i]) % buckets), row.ids[i]);
  }
}

TEST(CategoryIds, AreRemaindersWithoutADivision) {
  for (const std::int64_t rows : {1, 2, 3, 1000, 65'536, 999'983, 2'147'483'647}) {
    std::int32_t row = -1;
    const CategoryIds ids({&row, 1}, rows);
    for (std::uint64_t hash = 0; hash < 20'000; ++hash) {
      ids.set(0, 7, hash * 0x9E3779B97F4A7C15u);
      ASSERT_EQ(row, find_row(7, hash * 0x9E3779B97F4A7C15u, rows)) << rows << " rows";
    }
  }
}

TEST(CriteoLine, TakesDigitsOfEitherCaseForTheSameWord) {
  EXPECT_EQ(parse(with_field(get_line("0"), 20, "3F8a")).ids, parse(with_field(get_line("0"), 20, "3f8A")).ids);
  EXPECT_NE(parse(with_field(get_line("0"), 20, "3F8a")).ids, parse(with_field(get_line("0"), 20, "3f8b")).ids);
}

TEST(CriteoLine, TakesHexadecimalDigitsAloneInWordsOfAnyLength) {
  for (const std::size_t length : {1, 7, 8, 9, 16}) {
    for (int character = 0; character < 256; ++character) {
      if (character == '\t') continue;
      std::string word(length, '4');
      word[length / 2] = static_cast<char>(character);
      const std::string line = with_field(get_line("0"), 20, word);
      if (std::isxdigit(character) != 0) {
        std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
        EXPECT_EQ(parse(line).ids[6], category_id(6, word, buckets)) << word;
      } else {
        EXPECT_THROW(parse(line), BadSample) << "character " << character << " in " << length;
      }
    }
  }
}

TEST(CriteoLine, SaysWhatIsWrongAndWhere) {
  const auto refused = [](const std::string& line) { return get_error_message([&] { parse(line); }); };
  EXPECT_EQ(refused("1\t2"),
            "some/train.tsv:7: expected 40 fields between tabs (a label, 13 integers, 26 hexadecimal words), got 2");
  EXPECT_NE(refused(get_line("1") + "\t").find("got 41"), std::string::npos);
  EXPECT_NE(refused("").find("got 1"), std::string::npos);
  EXPECT_EQ(refused(get_line("2")), "some/train.tsv:7: label: expected 0 or 1, got \"2\"");
  EXPECT_EQ(refused(with_field(get_line("1"), 5, "4.5")),
            "some/train.tsv:7: integer feature 5: expected a whole number or nothing, got \"4.5\"");
  EXPECT_NE(refused(with_field(get_line("1"), 1, "99999999999999999999")).find("whole number"), std::string::npos);
  EXPECT_EQ(
      refused(with_field(get_line("1"), 14, "68fd1e6g")),
      "some/train.tsv:7: categorical feature 1: expected up to 16 hexadecimal digits or nothing, got \"68fd1e6g\"");
  EXPECT_NE(refused(with_field(get_line("1"), 39, std::string(100, 'a'))).find("feature 26"), std::string::npos);
  EXPECT_LT(refused(with_field(get_line("1"), 39, std::string(9999, 'a'))).size(), 200u);
}

TEST(LineIndex, FindsEveryLineWhateverEndsIt) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += fmt::format("line {}{}", i, i % 3 == 0 ? "\r\n" : "\n");
  for (const std::string& whole : {text, text + "line 50"}) {
    const LineIndex lines(whole);
    EXPECT_EQ(lines.size(), whole == text ? 50 : 51);
    for (std::int64_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], fmt::format("line {}", i));
  }
  for (const std::size_t length : {300, 3000, 100'000}) {
    text.clear();
    for (int i = 0; i < 20; ++i) text += std::string(length, static_cast<char>('a' + i)) + "\n";
    const LineIndex lines(text);
    EXPECT_EQ(lines.size(), 20);
    for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(lines[i], std::string(length, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(LineIndex("").size(), 0);
  EXPECT_EQ(LineIndex("\n\n")[1], "");
}

Row load_row(const Dataset& data, std::int64_t index) {
  const Batch sample = load_sample(data, index, SampleRandom(0, 0, index));
  Row row;
  row.label = sample.values<std::int32_t>(tensor_names::labels)[0];
  std::ranges::copy(sample.values<float>(tensor_names::dense_features), row.numbers.begin());
  std::ranges::copy(sample.values<std::int32_t>(tensor_names::categorical_features), row.ids.begin());
  return row;
}

class CriteoFile : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { directory.write(name, text); }
  std::unique_ptr<Dataset> open(Split split = Split::train) { return open_dataset(settings, split); }
  Row load(const Dataset& data, std::int64_t index) { return load_row(data, index); }

  TemporaryDirectory directory;
  DataSettings settings{.source = "criteo",
                        .path = directory.path().string(),
                        .train_file = "train.tsv",
                        .dev_file = "dev.tsv",
                        .hash_buckets = buckets};
};

TEST_F(CriteoFile, IsReadLineByLine) {
  write("train.tsv", get_line("1") + "\r\n" + with_field(get_line("0"), 2, "-2") + "\n" + get_line("1"));
  const auto data = open();
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->info().kind, DataKind::table);
  EXPECT_EQ(data->info().classes, 2);
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(load(*data, i).label, data->label(i));
  EXPECT_EQ(load(*data, 0).ids, load(*data, 2).ids);
  EXPECT_FLOAT_EQ(load(*data, 1).numbers[1], 1.0f / 603);
  EXPECT_EQ(data->origin(1).line, 2);
}

TEST_F(CriteoFile, NamesTheBadLine) {
  write("train.tsv", get_line("1") + "\n" + get_line("1") + "\nnothing\n");
  const auto data = open();
  EXPECT_THROW(load(*data, 2), BadSample);
  EXPECT_NE(get_error_message([&] { load(*data, 2); }).find("train.tsv:3: expected 40 fields"), std::string::npos);
}

TEST_F(CriteoFile, OfAnotherFormIsRefusedWhenItIsOpened) {
  write("train.tsv", "sentence\tlabel\nit works\t1\n");
  EXPECT_NE(get_error_message([&] { open(); }).find("train.tsv:1: expected 40 fields"), std::string::npos);
  write("train.tsv", "");
  EXPECT_NE(get_error_message([&] { open(); }).find("has no lines"), std::string::npos);
  EXPECT_NE(get_error_message([&] { open(Split::eval); }).find("dev.tsv: not found; data.dev_file names"),
            std::string::npos);
  write("train.tsv", get_line("1"));
  settings.classes = 3;
  EXPECT_NE(get_error_message([&] { open(); }).find("2 classes, got 3"), std::string::npos);
}

TEST(SyntheticClicks, TellTheirLabelAndDifferBetweenSplits) {
  const DataSettings settings{.source = "synthetic", .synthetic_kind = DataKind::table, .hash_buckets = 500};
  const auto train = open_dataset(settings, Split::train), eval = open_dataset(settings, Split::eval);
  std::map<std::int32_t, std::array<int, 2>> by_word;  // of the first feature
  int clicks = 0;
  for (std::int64_t i = 0; i < train->size(); ++i) {
    const Row row = load_row(*train, i);
    EXPECT_EQ(row.label, train->label(i));
    ++by_word[row.ids[0]][static_cast<std::size_t>(row.label)];
    clicks += row.label;
    for (const std::int32_t id : row.ids) EXPECT_TRUE(id >= 0 && id < 500);
    if (i >= eval->size()) continue;
    EXPECT_NE(row.ids, load_row(*eval, i).ids);
  }
  EXPECT_GT(clicks, train->size() / 5);
  EXPECT_LT(clicks, train->size() * 4 / 5);
  EXPECT_LE(by_word.size(), 20u);
}

}  // namespace
}  // namespace ptrain

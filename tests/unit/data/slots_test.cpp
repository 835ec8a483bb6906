// Lines of multi-hot clicks: what is read, what is refused, and by which words.
#include "core/data/table/slots_line.h"

#include "core/data/factory.h"
#include "core/data/table/criteo_line.h"
#include "core/data/tensor_names.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

constexpr int slots = 3, bag_size = 2;
constexpr std::int64_t buckets = 1000;

DatasetInfo get_info(int dense_features = 0) {
  DatasetInfo info;
  info.dense_features = dense_features;
  info.categorical_features = slots;
  info.bag_size = bag_size;
  info.hash_buckets = buckets;
  return info;
}

struct Row {
  std::optional<std::int32_t> label;
  std::vector<float> numbers;
  std::vector<std::int32_t> ids = std::vector<std::int32_t>(slots * bag_size);
};

template <typename Parse>
Row parse_by(Parse parse_line, const std::string& line, int dense_features) {
  const std::string file = "some/train.txt";
  Row row;
  row.numbers.resize(static_cast<std::size_t>(dense_features));
  row.label =
      parse_line(line, LinePlace{file, 7}, get_info(dense_features), row.numbers, CategoryIds(row.ids, buckets));
  return row;
}
Row parse(const std::string& line, int dense_features = 0) { return parse_by(parse_slots_line, line, dense_features); }
Row parse_question(const std::string& line, int dense_features = 0) {
  return parse_by(parse_slots_question, line, dense_features);
}

/// The row of a word of hexadecimal digits.
std::int32_t id(int slot, std::string_view word) { return category_id(slot - 1, word, buckets); }

TEST(SlotsLine, HasABagOfKeysForEachSlot) {
  const Row row = parse("1 1:ab 3:12 1:cd");
  EXPECT_EQ(row.label, 1);
  EXPECT_EQ(row.ids, (std::vector<std::int32_t>{id(1, "ab"), id(1, "cd"), -1, -1, id(3, "12"), -1}));
  EXPECT_EQ(parse("0 \t 1:ab\t3:12 \t1:cd ").ids, row.ids);
  EXPECT_EQ(parse("0").ids, std::vector<std::int32_t>(slots * bag_size, -1));
}

TEST(SlotsLine, HasKeysThatADynamicTableNumbers) {
  std::vector<std::int64_t> keys(slots * bag_size);
  parse_slots_line("1 1:ab 3:12 1:cd", {"some/train.txt", 7}, get_info(), {}, CategoryIds(keys));
  const Row row = parse("1 1:ab 3:12 1:cd");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::int64_t rows =
        keys[i] == -1 ? -1 : static_cast<std::int64_t>(static_cast<std::uint64_t>(keys[i]) % buckets);
    EXPECT_EQ(rows, row.ids[i]);
  }
}

TEST(SlotsLine, HasKeysOfAnyCharactersButBlanks) {
  const std::int32_t url = parse("1 2:http://a.example/?b=1").ids[2], shorter = parse("1 2:http").ids[2];
  EXPECT_GE(url, 0);
  EXPECT_NE(url, shorter);
  EXPECT_NE(parse("1 2:AB").ids[2], parse("1 2:ab").ids[2]) << "words, whose case counts";
  EXPECT_EQ(parse("1 2:18446744073709551615").ids[2], id(2, "18446744073709551615"));
}

TEST(SlotsLine, HasLabelsAsLibSvmsOrCriteos) {
  for (const auto& [label, value] : {std::pair("1", 1), std::pair("+1", 1), std::pair("0", 0), std::pair("-1", 0)}) {
    EXPECT_EQ(parse(std::string(label) + " 1:a").label, value) << label;
  }
}

TEST(SlotsLine, HasNumbersBeforeItsSlots) {
  const Row row = parse("1 0.5 -3e2 2:ab", 2);
  EXPECT_EQ(row.numbers, (std::vector<float>{0.5f, -300.0f}));
  EXPECT_EQ(row.ids, parse("1 2:ab").ids);
}

TEST(SlotsLine, MayLackItsLabelWhereItIsAQuestion) {
  EXPECT_FALSE(parse_question("1:ab 3:12").label);
  EXPECT_EQ(parse_question("1:ab 3:12").ids, parse("1 1:ab 3:12").ids);
  EXPECT_EQ(parse_question("1 1:ab").label, 1);
  EXPECT_FALSE(parse_question("0.5 1 1:ab", 2).label);
  EXPECT_EQ(parse_question("1 0.5 1 1:ab", 2).label, 1);
  EXPECT_THROW(parse_question(""), BadSample);
}

TEST(SlotsLine, ThatIsBadIsRefusedInOneLine) {
  const auto expect = [](const std::string& line, const std::string& message, int dense_features = 0) {
    EXPECT_EQ(get_error_message([&] { parse(line, dense_features); }), "some/train.txt:7: " + message);
  };
  const std::string labels = "expected 1 or +1 for a click, 0 or -1 for none, got ";
  expect("", "has no label: " + labels + "\"\"");
  expect("1:ab 2:cd", "has no label: " + labels + "\"1:ab\"");
  expect("2 1:ab", "label: " + labels + "\"2\"");
  const std::string range = "expected a slot from 1 to 3 (data.slots) before the colon, got ";
  expect("1 0:ab", range + "\"0:ab\"");
  expect("1 1:ab 4:cd", range + "\"4:cd\"");
  expect("1 x:ab", range + "\"x:ab\"");
  expect("1 -1:ab", range + "\"-1:ab\"");
  expect("1 :ab", range + "\":ab\"");
  expect("1 99999999999999999999:ab", range + "\"99999999999999999999:ab\"");
  expect("1 1:ab 2: 3:cd", "slot 2: has no key after the colon");
  expect("1 1:ab 2:", "slot 2: has no key after the colon");
  expect("1 1:ab word", "expected SLOT:KEY, got \"word\"");
  expect("1 3:a 3:b 1:d 3:c", "slot 3: has more than 2 keys (data.bag_size)");
  const std::string number = "number 2 of 2 (data.dense_features): expected a finite number, got ";
  expect("1 0.5 1:ab", number + "\"1:ab\"", 2);
  expect("1 0.5 inf 1:ab", number + "\"inf\"", 2);
  expect("1 0.5", number + "\"\"", 2);
}

Batch load(const Dataset& data, std::int64_t index) { return load_sample(data, index, SampleRandom(0, 0, index)); }

class SlotsFile : public ::testing::Test {
 protected:
  std::unique_ptr<Dataset> open(Split split = Split::train) { return open_dataset(settings, split); }

  TemporaryDirectory directory;
  DataSettings settings{.source = "slots",
                        .path = directory.path().string(),
                        .train_file = "train.txt",
                        .dev_file = "dev.txt",
                        .hash_buckets = buckets,
                        .slots = slots,
                        .bag_size = bag_size};
};

TEST_F(SlotsFile, IsReadLineByLine) {
  directory.write("train.txt", " 1 1:ab\r\n+1 2:cd\n-1 3:ef 3:12");
  const auto data = open();
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->info().kind, DataKind::table);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(load(*data, i).values<std::int32_t>(tensor_names::labels)[0], data->label(i));
    EXPECT_EQ(data->label(i), i < 2 ? 1 : 0);
  }
  const Batch last = load(*data, 2);
  EXPECT_FALSE(last.has(tensor_names::dense_features));
  EXPECT_EQ(last.at(tensor_names::categorical_features).shape(), (Shape{1, slots, bag_size}));
  EXPECT_EQ(get_values<std::int32_t>(last, tensor_names::categorical_features), parse("0 3:ef 3:12").ids);
  EXPECT_EQ(data->origin(1).line, 2);
}

TEST_F(SlotsFile, OfAnotherFormIsRefusedWhenItIsOpened) {
  directory.write("train.txt", "label keys\n");
  EXPECT_NE(get_error_message([&] { open(); }).find("train.txt:1: label: expected 1 or +1"), std::string::npos);
  directory.write("train.txt", "");
  EXPECT_NE(get_error_message([&] { open(); }).find("train.txt: has no lines"), std::string::npos);
  EXPECT_NE(get_error_message([&] { open(Split::eval); }).find("dev.txt: not found; data.dev_file names"),
            std::string::npos);
  settings.slots = 0;
  EXPECT_NE(get_error_message([&] { open(); }).find("data.slots: expected 1 or more"), std::string::npos);
  settings.slots = 3;
  settings.source = "criteo";
  EXPECT_NE(get_error_message([&] { open(); }).find("data.slots: expected 0 with data.source criteo"),
            std::string::npos);
}

TEST(SyntheticClicks, OfBagsHaveUpToTheMostWords) {
  const DataSettings settings{.source = "synthetic",
                              .synthetic_kind = DataKind::table,
                              .hash_buckets = 500,
                              .slots = 7,
                              .bag_size = 3,
                              .dense_features = 2};
  const auto train = open_dataset(settings, Split::train);
  std::array<int, 4> counts{};  // of bags with so many words
  int clicks = 0;
  for (std::int64_t i = 0; i < train->size(); ++i) {
    const Batch sample = load(*train, i);
    const auto ids = sample.values<std::int32_t>(tensor_names::categorical_features);
    ASSERT_EQ(ids.size(), 21u);
    for (std::size_t slot = 0; slot < 7; ++slot) {
      const auto bag = ids.subspan(slot * 3, 3);
      const auto used = std::ranges::count_if(bag, [](std::int32_t id) { return id >= 0; });
      EXPECT_TRUE(std::all_of(bag.begin() + used, bag.end(), [](std::int32_t id) { return id == -1; }));
      ++counts[static_cast<std::size_t>(used)];
    }
    clicks += train->label(i);
    EXPECT_EQ(sample.values<std::int32_t>(tensor_names::labels)[0], train->label(i));
  }
  for (const int count : counts) EXPECT_GT(count, train->size()) << "a quarter of seven bags each";
  EXPECT_GT(clicks, train->size() / 4);
  EXPECT_LT(clicks, train->size() * 3 / 4);
}

}  // namespace
}  // namespace ptrain

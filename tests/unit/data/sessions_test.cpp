// Session logs: their columns and order, the sequences that are learnt, and what is refused.
#include "core/data/factory.h"
#include "core/data/table/session_log.h"
#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace ptrain {
namespace {

std::vector<std::vector<std::string>> items_of(const std::vector<Session>& sessions) {
  std::vector<std::vector<std::string>> items;
  for (const Session& session : sessions) items.push_back(session.items);
  return items;
}

using Items = std::vector<std::vector<std::string>>;

TEST(SessionLog, IsReadWithItsSeparatorsAndNames) {
  const Items expected{{"a", "b"}, {"c"}};
  EXPECT_EQ(items_of(parse_session_log("session_id,item_id\n1,a\n2,c\n1,b\n", "log")), expected);
  EXPECT_EQ(items_of(parse_session_log("SessionId;user;ItemId\r\n1;x;a\r\n2;x;c\r\n1;y;b\r\n", "log")), expected);
  EXPECT_EQ(items_of(parse_session_log("item\tsession\n\"a\"\t1\nc\t2\nb\t1\n", "log")), expected);
}

TEST(SessionLog, OrdersASessionByTime) {
  const Items expected{{"b", "c", "a"}};
  EXPECT_EQ(items_of(parse_session_log("session,item,Time\n1,a,100\n1,b,9.5\n1,c,9.5\n", "log")), expected);
  EXPECT_EQ(items_of(parse_session_log("session,item,time\n1,a,2016-05-09\n1,b,2016-04-10\n1,c,2016-04-11\n", "log")),
            expected);
  EXPECT_EQ(items_of(parse_session_log("session,item,time\n1,a,10:00\n1,b,09:30\n1,c,09:31\n", "log")), expected);
}

TEST(SessionLog, OfAnotherFormIsRefusedByFileAndLine) {
  const auto refusal = [](const std::string& text) { return get_error([&] { parse_session_log(text, "log"); }); };
  EXPECT_EQ(refusal("a,item\n1,2\n"),
            "log:1: expected a header with a column session_id, sessionid, session, got \"a\", \"item\"");
  EXPECT_EQ(refusal("session,item\n1,2\n1\n"), "log:3: expected 2 fields, as in the header, got 1");
  EXPECT_EQ(refusal("session,item\n1,\n"), "log:2: item: is empty");
  EXPECT_EQ(refusal("session,item\n1,2\nsession,item\n"),
            "log:3: repeats the header, as where files were joined: remove the line");
  const std::string expected = "expected a number, a date as 2014-04-07T10:51:09 or a time as 10:51:09, got ";
  for (const std::string time : {"4/7/2014", "2014-4-7", "9:05", "soon", "nan", "inf"}) {
    EXPECT_EQ(refusal("session,item,time\n1,2," + time + "\n"), "log:2: time: " + expected + '"' + time + '"');
  }
  EXPECT_EQ(refusal("session,item,time\n1,2,9\n1,3,2014-04-07\n"),
            "log:3: time: expected only numbers or only dates in this column");
  EXPECT_EQ(refusal("session,item\n"), "log: has no rows below its header");
  EXPECT_EQ(refusal(""), "log: is empty: expected a header and a row for each step of a session");
}

class Sessions : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_.source = "sessions";
    settings_.path = folder_.path().string();
    settings_.train_file = "train.csv";
    settings_.dev_file = "dev.csv";
    settings_.max_length = 3;
    write_file_atomic(folder_ / "train.csv", "session,item\n1,a\n1,b\n1,a\n1,c\n1,d\n2,a\n3,d\n3,b\n");
  }
  static std::vector<std::int32_t> ids_of(const Dataset& data, std::int64_t index) {
    const Batch sample = load_sample(data, index, SampleRandom(0, 0, 0));
    std::vector<std::int32_t> ids = get_values<std::int32_t>(sample, tensor_names::ids);
    ids.resize(static_cast<std::size_t>(get_values<std::int32_t>(sample, tensor_names::lengths)[0]));
    return ids;
  }

  const TemporaryDirectory folder_;
  DataSettings settings_;
};

TEST_F(Sessions, LearnEveryItemButTheFirstOnce) {
  const auto data = open_dataset(settings_, Split::train);
  EXPECT_EQ(data->info().vocab_size, 4);
  ASSERT_EQ(data->size(), 3);
  EXPECT_EQ(ids_of(*data, 0), (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(ids_of(*data, 1), (std::vector<std::int32_t>{0, 2, 3}));
  EXPECT_EQ(ids_of(*data, 2), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(data->origin(2).line, 8);
  ASSERT_EQ(data->notes().size(), 1u);
  EXPECT_NE(data->notes()[0].find("left out 1 session with fewer than two items"), std::string::npos);
}

TEST_F(Sessions, DrawOtherItemsByHowOftenTheyOccur) {
  settings_.negatives = 40;
  settings_.negative_power = 1;
  const auto data = open_dataset(settings_, Split::train);
  std::vector<double> counts(4);
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    for (std::int64_t index = 0; index < data->size(); ++index) {
      const Batch sample = load_sample(*data, index, SampleRandom(1, epoch, index));
      for (const std::int32_t item : get_values<std::int32_t>(sample, tensor_names::sampled_items)) {
        ++counts.at(static_cast<std::size_t>(item));
      }
    }
  }
  const std::array<double, 4> shares{2.0 / 7, 2.0 / 7, 1.0 / 7, 2.0 / 7};  // of a, b, c and d in sessions that count
  for (std::size_t item = 0; item < shares.size(); ++item) EXPECT_NEAR(counts[item] / 6000, shares[item], 0.03) << item;
  const Batch sample = load_sample(*data, 1, SampleRandom(1, 0, 1));
  const auto next = get_values<float>(sample, tensor_names::next_shares);
  EXPECT_NEAR(next[0], std::log(shares[2]), 1e-6);
  EXPECT_NEAR(next[1], std::log(shares[3]), 1e-6);
  EXPECT_EQ(next[2], 0);
  const auto items = get_values<std::int32_t>(sample, tensor_names::sampled_items);
  const auto drawn = get_values<float>(sample, tensor_names::sampled_shares);
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_NEAR(drawn[i], std::log(shares.at(static_cast<std::size_t>(items[i]))), 1e-6);
  }
  write_file_atomic(folder_ / "dev.csv", "session,item\n1,d\n1,a\n");
  for (const TensorSpec& spec : open_dataset(settings_, Split::eval)->tensors({})) {
    EXPECT_NE(spec.name, tensor_names::sampled_items);
  }
}

TEST_F(Sessions, AreEvaluatedOnItemsThatWereTrained) {
  write_file_atomic(folder_ / "dev.csv", "session,item\n1,d\n1,new\n1,a\n2,b\n2,newer\n");
  const auto data = open_dataset(settings_, Split::eval);
  EXPECT_EQ(data->info().vocab_size, 4);
  ASSERT_EQ(data->size(), 1);
  EXPECT_EQ(ids_of(*data, 0), (std::vector<std::int32_t>{3, 0}));
  ASSERT_EQ(data->notes().size(), 2u);
  EXPECT_NE(data->notes()[0].find("left out 2 rows with an item that the training file does not have"),
            std::string::npos);
  write_file_atomic(folder_ / "dev.csv", "session,item\n1,d\n1,new\n");
  EXPECT_NE(get_error([&] { open_dataset(settings_, Split::eval); }).find("dev.csv: has no session of two items"),
            std::string::npos);
}

}  // namespace
}  // namespace ptrain

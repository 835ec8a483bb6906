#include "core/ops/sparse/find_rows.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace ptrain::testing {
namespace find_rows_test {

using Keys = std::vector<std::int64_t>;
using Rows = std::vector<std::int32_t>;

/// An index's memory, and ops that run on it.
class Table {
 public:
  explicit Table(std::int64_t capacity)
      : keys(static_cast<std::size_t>(capacity)),
        slots(static_cast<std::size_t>(RowIndex::slots_for(capacity))),
        counts(RowIndex::counts_size),
        seen(static_cast<std::size_t>(RowIndex::counters_for(capacity))),
        scores(keys.size()),
        freed(keys.size()) {}

  /// The rows of `batch`; fresh_ then has those that it made.
  Rows run(Keys batch, const FindRowsAttributes& attributes, Rows received_counts = {}) {
    const bool counts_seen = attributes.inserts && attributes.admit_after > 1;
    const bool sweeps = attributes.inserts && attributes.sweep;
    const auto n = static_cast<std::int64_t>(batch.size());
    const auto desc = [](DType dtype, const auto& values) {
      return TensorDesc{dtype, Shape{static_cast<std::int64_t>(values.size())}};
    };
    const std::vector<TensorDesc> inputs{{DType::i64, Shape{n}},
                                         desc(DType::i64, keys),
                                         desc(DType::i32, slots),
                                         desc(DType::i64, counts),
                                         counts_seen ? desc(DType::u8, seen) : absent_input(),
                                         sweeps ? desc(DType::f32, scores) : absent_input(),
                                         sweeps ? desc(DType::i32, freed) : absent_input(),
                                         received_counts.empty() ? absent_input() : desc(DType::i32, received_counts)};
    const FindRows op(attributes);
    const std::vector<TensorDesc> outputs = op.infer(inputs);
    const auto backend = make_test_backend();
    const auto kernel = backend->kernels().make_kernel({op, inputs, outputs});
    Rows rows(batch.size(), -7);
    fresh_.assign(batch.size(), -7);
    std::vector<void*> in{batch.data(),
                          keys.data(),
                          slots.data(),
                          counts.data(),
                          counts_seen ? seen.data() : nullptr,
                          sweeps ? scores.data() : nullptr,
                          sweeps ? freed.data() : nullptr,
                          received_counts.data()};
    std::vector<void*> out{rows.data(), fresh_.data()};
    out.resize(outputs.size());
    kernel->run({in, out});
    return rows;
  }
  Rows train(Keys batch) { return run(std::move(batch), {.inserts = true}); }
  Rows find(Keys batch) { return run(std::move(batch), {}); }
  const Rows& fresh() const { return fresh_; }
  std::int64_t in_use() { return RowIndex(keys, slots, counts).in_use(); }

  Keys keys;
  Rows slots;
  Keys counts;
  std::vector<std::uint8_t> seen;
  std::vector<float> scores;
  Rows freed;

 private:
  Rows fresh_;
};

/// `count` different keys that are none's neighbours.
Keys make_keys(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::set<std::int64_t> keys;
  while (keys.size() < count) keys.insert(static_cast<std::int64_t>(random()));
  Keys shuffled(keys.begin(), keys.end());
  std::ranges::shuffle(shuffled, random);
  return shuffled;
}

TEST(FindRows, GivesKeysRowsInTheOrderInWhichTrainingSeesThem) {
  Table table(100);
  EXPECT_EQ(table.train({70, -5, -1, 70, 0, 8}), (Rows{0, 1, -1, 0, 2, 3}));
  EXPECT_EQ(table.fresh(), (Rows{0, 1, -1, -1, 2, 3}));
  EXPECT_EQ(table.train({8, 9, -1, -5}), (Rows{3, 4, -1, 1}));
  EXPECT_EQ(table.fresh(), (Rows{-1, 4, -1, -1}));
}

TEST(FindRows, FindsNoRowOfUnknownKeysAndMakesNone) {
  Table table(100);
  EXPECT_EQ(table.find({1, -1}), (Rows{-1, -1}));
  table.train({1});
  EXPECT_EQ(table.find({2, 1, -1, -2}), (Rows{-1, 0, -1, -1}));
  EXPECT_EQ(table.in_use(), 1);
}

TEST(FindRows, FindsEveryKeyAfterTheSlotsWereDoubled) {
  Table table(20'000);
  const Keys keys = make_keys(20'000);
  for (std::size_t begin = 0; begin < keys.size(); begin += 1000) {
    table.train(Keys(keys.begin() + static_cast<std::ptrdiff_t>(begin),
                     keys.begin() + static_cast<std::ptrdiff_t>(begin + 1000)));
    const std::size_t used = std::size_t{1} << table.counts[RowIndex::slot_bits];
    EXPECT_GE(used, 2 * (begin + 1000));
    EXPECT_LT(used, std::max<std::size_t>(1025, 4 * (begin + 1000)));
    EXPECT_TRUE(std::all_of(table.slots.begin() + static_cast<std::ptrdiff_t>(used), table.slots.end(),
                            [](std::int32_t slot) { return slot == 0; }))
        << "a table of few rows touches no more memory";
  }
  const Rows rows = table.find(keys);
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], static_cast<std::int32_t>(i));
}

TEST(FindRows, DoesNotDependOnTheNumberOfThreads) {
  const Keys distinct = make_keys(700);
  std::mt19937 random(3);
  Keys batch(20'000);
  for (std::int64_t& key : batch) key = distinct[random() % distinct.size()];
  Table one(1000), four(1000);
  const FindRowsAttributes attributes{.inserts = true, .admit_after = 2, .sweep = RowSweep{2, 0.9f, 20}};
  for (int step = 0; step < 5; ++step) {
    std::ranges::shuffle(batch, random);
    set_thread_count(1);
    const Rows alone = one.run(batch, attributes);
    set_thread_count(4);
    EXPECT_EQ(four.run(batch, attributes), alone);
    set_thread_count(1);
    EXPECT_EQ(four.fresh(), one.fresh());
  }
  EXPECT_EQ(four.keys, one.keys);
  EXPECT_EQ(four.counts, one.counts);
  EXPECT_EQ(four.scores, one.scores);
}

TEST(FindRows, OfAFullTableIsAnErrorThatNamesTheKey) {
  Table table(4);
  EXPECT_EQ(table.train({1, 2, 3, 4, 2}), (Rows{0, 1, 2, 3, 1}));
  EXPECT_EQ(table.find({4, 5}), (Rows{3, -1}));
  try {
    table.train({4, 5});
    ADD_FAILURE() << "a fifth key was given a row";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("its 4 rows (model.hash_buckets)"), std::string::npos) << error.what();
  }
}

TEST(FindRows, AdmitsAKeyAtThatOccurrence) {
  Table table(10);
  const FindRowsAttributes third{.inserts = true, .admit_after = 3};
  EXPECT_EQ(table.run({5, 6, 5}, third), (Rows{-1, -1, -1}));
  EXPECT_EQ(table.counts[RowIndex::unadmitted], 3);
  EXPECT_EQ(table.run({6, 5, 5, 6, 6}, third), (Rows{-1, 0, 0, 1, 1}));
  EXPECT_EQ(table.fresh(), (Rows{-1, 0, -1, 1, -1}));
  EXPECT_EQ(table.counts[RowIndex::unadmitted], 4);
}

TEST(FindRows, ReadsAndWritesNoMoreThanWasReceived) {
  Table table(10);
  const FindRowsAttributes inserts{.inserts = true, .shard = {1, 2, true}};
  EXPECT_EQ(table.run({5, 6, 5, 8, 9}, inserts, {1, 2, 100}), (Rows{0, 1, 0, -7, -7})) << "of two ranks";
  EXPECT_EQ(table.fresh(), (Rows{0, 1, -1, -7, -7}));
  EXPECT_EQ(table.run({9, 5, 6}, {}, {0, 2, 100}), (Rows{-1, 0, -7}));
  EXPECT_EQ(table.in_use(), 2);
}

TEST(FindRows, NamesTheRankWhoseShareIsFull) {
  Table table(2);
  try {
    table.run({1, 2, 3}, {.inserts = true, .shard = {3, 4, true}});
    ADD_FAILURE() << "a third key was given a row";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 3's share of 2 rows (model.hash_buckets)"), std::string::npos)
        << error.what();
  }
}

TEST(RowShard, GivesEveryRankAboutAsManyKeys) {
  constexpr std::int64_t rows = 200'000;
  const Keys keys = make_keys(rows);
  for (const int ranks : {2, 3, 100}) {
    const RowShard shard{0, ranks, true};
    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
    for (const std::int64_t key : keys) ++counts.at(static_cast<std::size_t>(shard.owner(key)));
    EXPECT_LE(*std::ranges::max_element(counts), shard.size(rows));
  }
  EXPECT_EQ((RowShard{0, 100, true}.size(10'000'000'000)), 102'001'024);
  EXPECT_EQ((RowShard{0, 2, true}.size(600)), 600) << "never more than all";
  EXPECT_EQ((RowShard{0, 100, true}.count(102'001'024)), 10'000'000'000);
  EXPECT_EQ((RowShard{0, 2, true}.count(600)), 600);
  EXPECT_EQ((RowShard{0, 4, false}.count(25)), 100);
}

/// Counters of ranks, one after the other, are those of one table.
TEST(RowIndex, CountersOfRanksAreThoseOfOne) {
  constexpr std::int64_t ranks = 4, each = 1024;
  std::vector<std::uint8_t> of_ranks(ranks * each), of_one(ranks * each);
  for (const std::int64_t key : make_keys(300)) {
    const RowShard shard{0, ranks, true};
    const std::size_t at = RowIndex::counter_at(shard.place_on_rank(key), each);
    ++of_ranks[static_cast<std::size_t>(shard.owner(key)) * each + at];
    ++of_one[RowIndex::counter_at(RowShard{}.place_on_rank(key), ranks * each)];
  }
  EXPECT_EQ(of_ranks, of_one);
}

TEST(RowIndex, FewerOrMoreCountersCountNoLess) {
  const std::vector<std::uint8_t> counters{3, 1, 0, 4, 2, 0};
  const auto resized = [&](std::size_t count) {
    std::vector<std::uint8_t> other(count, 9);
    RowIndex::resize_counters(counters, other);
    return other;
  };
  EXPECT_EQ(resized(6), counters);
  EXPECT_EQ(resized(3), (std::vector<std::uint8_t>{3, 4, 2}));
  EXPECT_EQ(resized(12), (std::vector<std::uint8_t>{3, 3, 1, 1, 0, 0, 4, 4, 2, 2, 0, 0}));
  EXPECT_EQ(resized(4), (std::vector<std::uint8_t>{3, 1, 4, 2}));
}

TEST(FindRows, TakesRowsFromRareKeysAndGivesThemToOthers) {
  Table table(4);
  const FindRowsAttributes sweep{.inserts = true, .sweep = RowSweep{2, 0.5f, 0.75f}};
  table.run({1, 2, 2, 3}, sweep);
  table.run({2, 4, 3}, sweep);
  EXPECT_EQ(table.scores, (std::vector<float>{1, 3, 2, 1}));
  // Scores become 0.5, 1.5, 1 and 0.5.
  EXPECT_EQ(table.run({1, 2, 7, 3}, sweep), (Rows{3, 1, 0, 2}));
  EXPECT_EQ(table.fresh(), (Rows{3, -1, 0, -1}));
  EXPECT_EQ(table.counts[RowIndex::evicted], 2);
  EXPECT_EQ(table.find({4, 1, 2, 3, 7}), (Rows{-1, 3, 1, 2, 0}));
  EXPECT_EQ(table.in_use(), 4);
}

/// Ahead of a step whose gradients are still to come.
TEST(FindRows, AheadGivesRowsThatItTakesToKeysOfLaterSteps) {
  Table table(10);
  const FindRowsAttributes ahead{.inserts = true, .sweep = RowSweep{1, 0.5f, 0.6f}, .ahead = true};
  table.run({1, 2, 3}, ahead);
  EXPECT_EQ(table.run({4, 5}, ahead), (Rows{3, 4})) << "rows 0, 1 and 2 are free, but not yet for others";
  EXPECT_EQ(table.run({6, 7, 8, 9}, ahead), (Rows{2, 1, 0, 5})) << "nor are 3 and 4 now";
  EXPECT_EQ(table.counts[RowIndex::freed], 2);
  EXPECT_EQ(table.run({6, 3}, ahead), (Rows{3, 4}));
}

TEST(FindRows, AheadIsNoStepWithoutKeysOnAnyRank) {
  Table table(10);
  const FindRowsAttributes ahead{.inserts = true, .sweep = RowSweep{1, 0.5f, 0.6f}, .ahead = true};
  table.run({1, 2}, ahead, {1, 1, 1});
  table.run({-1, -1}, ahead, {0, 0, 0});
  EXPECT_EQ(table.in_use(), 2);
  table.run({-1, -1}, ahead, {0, 0, 1});
  EXPECT_EQ(table.in_use(), 0) << "another rank has a key";
}

TEST(FindRows, CountsKeysOnceThatWereCountedAhead) {
  Table table(10);
  const FindRowsAttributes ahead{.inserts = true, .admit_after = 2, .sweep = RowSweep{2, 0.5f, 0.6f}, .ahead = true};
  table.run({1, 1, 2}, ahead);
  const Keys counts = table.counts;
  const std::vector<float> scores = table.scores;
  table.counts[RowIndex::ahead] = 1;
  EXPECT_EQ(table.run({1, 1, 2}, ahead), (Rows{0, 0, -1}));
  EXPECT_EQ(table.fresh(), (Rows{-1, -1, -1}));
  EXPECT_EQ(table.counts, counts);
  EXPECT_EQ(table.scores, scores);
  EXPECT_EQ(table.run({2, -1, -1}, ahead), (Rows{1, -1, -1})) << "its second occurrence";
}

/// Against a map, with as many keys as there are rows, so that runs of slots are long.
TEST(RowIndex, FindsWhatAMapFindsWhileKeysComeAndGo) {
  std::vector<std::int64_t> keys(512), counts(RowIndex::counts_size);
  std::vector<std::int32_t> slots(static_cast<std::size_t>(RowIndex::slots_for(512))), free;
  RowIndex index(keys, slots, counts);
  std::map<std::int64_t, std::int32_t> expected;
  std::mt19937 random(5);
  for (int i = 0; i < 50'000; ++i) {
    const std::int64_t key = random() % 1000;
    const auto found = expected.find(key);
    ASSERT_EQ(index.find(key), found == expected.end() ? -1 : found->second) << "after " << i << " changes";
    if (found != expected.end()) {
      index.erase(found->second);
      free.push_back(found->second);
      ++counts[RowIndex::freed];
      expected.erase(found);
    } else if (!free.empty()) {
      --counts[RowIndex::freed];
      index.assign(key, free.back());
      expected[key] = free.back();
      free.pop_back();
    } else if (counts[RowIndex::rows] < 512) {
      expected[key] = index.append(key);
    }
  }
  EXPECT_GT(expected.size(), 400u);
  index.rebuild();
  for (const auto& [key, row] : expected) ASSERT_EQ(index.find(key), row);
}

std::vector<float> start_rows(Rows fresh, Keys keys, const Initializer& initializer, std::int64_t width,
                              std::uint64_t seed = 42) {
  std::vector<float> table(static_cast<std::size_t>(8 * width), 9.0f);
  const auto n = static_cast<std::int64_t>(keys.size());
  const std::vector<TensorDesc> inputs{
      {DType::i32, Shape{n}}, {DType::i64, Shape{n}}, {DType::f32, width == 1 ? Shape{8} : Shape{8, width}}};
  const StartRows op({initializer, seed, random_stream_number("words.weight")});
  const auto backend = make_test_backend();
  const auto kernel = backend->kernels().make_kernel({op, inputs, op.infer(inputs)});
  std::vector<void*> in{fresh.data(), keys.data(), table.data()};
  kernel->run({in, {}});
  return table;
}

std::vector<float> row_of(const std::vector<float>& table, std::size_t row, std::size_t width) {
  return {table.begin() + static_cast<std::ptrdiff_t>(row * width),
          table.begin() + static_cast<std::ptrdiff_t>((row + 1) * width)};
}

TEST(StartRows, GivesAKeyTheSameValuesWhateverItsRow) {
  for (const auto kind : {Initializer::Kind::uniform, Initializer::Kind::normal}) {
    const Initializer initializer{kind, 0.5f};
    const std::vector<float> one = start_rows({-1, 2, 5}, {7, 8, 9}, initializer, 5);
    const std::vector<float> other = start_rows({0, 3, -1}, {9, 8, 7}, initializer, 5);
    EXPECT_EQ(row_of(one, 2, 5), row_of(other, 3, 5));
    EXPECT_EQ(row_of(one, 5, 5), row_of(other, 0, 5));
    EXPECT_NE(row_of(one, 2, 5), row_of(one, 5, 5));
    EXPECT_EQ(row_of(one, 0, 5), std::vector<float>(5, 9.0f)) << "no row but fresh ones";
    EXPECT_NE(start_rows({-1, 2, 5}, {7, 8, 9}, initializer, 5, 43), one) << "another seed";
  }
}

TEST(StartRows, DrawsFromTheInitializersDistribution) {
  Rows fresh{0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<float> values = start_rows(fresh, make_keys(8), {Initializer::Kind::uniform, 2.0f}, 1000);
  double sum = 0, squares = 0;
  for (const float value : values) {
    EXPECT_GE(value, -2.0f);
    EXPECT_LT(value, 2.0f);
    sum += value, squares += value * value;
  }
  EXPECT_NEAR(sum / 8000, 0, 0.05);
  EXPECT_NEAR(squares / 8000, 4.0 / 3, 0.05);
}

TEST(StartRows, ReadsNoMoreThanWasReceived) {
  Rows fresh{1, 2, 3}, counts{1, 1, 100};
  Keys keys{7, 8, 9};
  std::vector<float> table(8, 9.0f);
  const std::vector<TensorDesc> inputs{
      {DType::i32, Shape{3}}, {DType::i64, Shape{3}}, {DType::f32, Shape{8}}, {DType::i32, Shape{3}}};
  const StartRows op(StartRowsAttributes{});
  const auto kernel = make_test_backend()->kernels().make_kernel({op, inputs, op.infer(inputs)});
  std::vector<void*> in{fresh.data(), keys.data(), table.data(), counts.data()};
  kernel->run({in, {}});
  EXPECT_EQ(table, (std::vector<float>{9, 0, 0, 9, 9, 9, 9, 9}));
}

TEST(StartRows, ZeroesARowsOnlyNumber) {
  EXPECT_EQ(start_rows({6, -1}, {1, 2}, {}, 1), (std::vector<float>{9, 9, 9, 9, 9, 9, 0, 9}));
}

TEST(FindRows, RefusesTensorsOfOtherSizes) {
  std::vector<TensorDesc> inputs{{DType::i64, Shape{4}}, {DType::i64, Shape{10}}, {DType::i32, Shape{1024}},
                                 {DType::i64, Shape{8}}, absent_input(),          absent_input(),
                                 absent_input()};
  EXPECT_EQ(FindRows(FindRowsAttributes{}).infer(inputs).size(), 1u);
  EXPECT_EQ(FindRows(FindRowsAttributes{.inserts = true}).infer(inputs).size(), 2u);
  EXPECT_THROW(FindRows(FindRowsAttributes{.inserts = true, .admit_after = 2}).infer(inputs), std::invalid_argument);
  EXPECT_THROW(FindRows(FindRowsAttributes{.inserts = true, .sweep = RowSweep{1, 1, 1}}).infer(inputs),
               std::invalid_argument);
  inputs[FindRows::slots].shape = Shape{1000};
  EXPECT_THROW(FindRows(FindRowsAttributes{}).infer(inputs), std::invalid_argument);
  EXPECT_THROW(
      StartRows(StartRowsAttributes{})
          .infer(std::vector<TensorDesc>{{DType::i32, Shape{3}}, {DType::i64, Shape{4}}, {DType::f32, Shape{8, 2}}}),
      std::invalid_argument);
}

}  // namespace find_rows_test
}  // namespace ptrain::testing

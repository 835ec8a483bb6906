#include "core/ops/sparse/exchanged_rows.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <map>
#include <set>
#include <thread>

namespace ptrain::testing {
namespace exchanged_rows_test {

using Values = std::vector<double>;

HostTensor get_ids(DType dtype, const Values& ids) {
  return tensor(dtype, Shape{static_cast<std::int64_t>(ids.size())}, ids);
}

Values first(const HostTensor& of, double count) {
  return {of.values.begin(), of.values.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(UniqueIds, AreByOwnerThenByFirstPlace) {
  for (const DType dtype : {DType::i32, DType::i64}) {
    std::vector<HostTensor> inputs{get_ids(dtype, {7, -1, 4, 7, 3, 6, -1, 4, 9})};
    const auto outputs = run_op(std::make_shared<UniqueIds>(RowShard{1, 3}), inputs);
    EXPECT_EQ(outputs[UniqueIds::counts].values, (Values{3, 2, 0}));
    EXPECT_EQ(outputs[UniqueIds::unique].desc.dtype, dtype);
    EXPECT_EQ(first(outputs[UniqueIds::unique], 5), (Values{3, 6, 9, 7, 4}));
    EXPECT_EQ(outputs[UniqueIds::inverse].values, (Values{3, -1, 4, 3, 0, 1, -1, 4, 2}));
  }
}

TEST(UniqueIds, MayBeKeysBelowZero) {
  const RowShard shard{1, 3, true};
  const Values keys{-7, -1, 40, -7, 3};
  std::vector<HostTensor> inputs{get_ids(DType::i64, keys)};
  const auto outputs = run_op(std::make_shared<UniqueIds>(shard), inputs);
  std::vector<std::vector<double>> of_ranks(3);
  for (const double key : {-7.0, 40.0, 3.0}) {
    of_ranks[static_cast<std::size_t>(shard.owner(static_cast<std::int64_t>(key)))].push_back(key);
  }
  Values expected;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(outputs[UniqueIds::counts].values[rank], static_cast<double>(of_ranks[rank].size()));
    expected.insert(expected.end(), of_ranks[rank].begin(), of_ranks[rank].end());
  }
  EXPECT_EQ(first(outputs[UniqueIds::unique], 3), expected);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double number = outputs[UniqueIds::inverse].values[i];
    EXPECT_EQ(number < 0 ? -1 : expected[static_cast<std::size_t>(number)], keys[i]);
  }
}

TEST(UniqueIds, AreThoseOfTheBatch) {
  for (const int world_size : {1, 2, 5}) {
    std::vector<HostTensor> inputs{random_tensor(DType::i32, Shape{40, 25}, 3, 0, 300)};
    const auto outputs = run_op(std::make_shared<UniqueIds>(RowShard{0, world_size}), inputs);
    for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
      const auto number = static_cast<std::size_t>(outputs[UniqueIds::inverse].values[i]);
      ASSERT_EQ(outputs[UniqueIds::unique].values[number], inputs[0].values[i]);
    }
  }
}

TEST(UniqueIds, OfNoneAreNone) {
  std::vector<HostTensor> inputs{get_ids(DType::i32, {-1, -1})};
  const auto outputs = run_op(std::make_shared<UniqueIds>(RowShard{0, 2}), inputs);
  EXPECT_EQ(outputs[UniqueIds::counts].values, (Values{0, 0}));
  EXPECT_EQ(outputs[UniqueIds::inverse].values, (Values{-1, -1}));
}

TEST(MergeRows, HaveEachRowOnceInTheOrderOfTheRanks) {
  for (const DType dtype : {DType::i32, DType::i64}) {
    // Of 2 ranks' 4 ids; rank 1 has 7 rows.
    std::vector<HostTensor> inputs{get_ids(dtype, {13, 3, 5, 5, 3, 11, 0, 0}), tensor(DType::i32, Shape{3}, {3, 3, 3})};
    const auto outputs = run_op(std::make_shared<MergeRows>(RowExchange{{1, 2}, 4, 7}), inputs);
    EXPECT_EQ(outputs[MergeRows::used].values, (Values{4}));
    EXPECT_EQ(outputs[MergeRows::rows].values, (Values{6, 1, 2, 5, -1, -1, -1}));
    EXPECT_EQ(first(outputs[MergeRows::numbers], 6), (Values{0, 1, 2, 2, 1, 3}));
  }
}

/// Of 2 ranks' 3 keys; rank 1 has 7 rows.
TEST(MergeRows, LeaveKeysWithoutARowOut) {
  std::vector<HostTensor> inputs{get_ids(DType::i32, {6, -1, 1, 1, 0, 0}), tensor(DType::i32, Shape{3}, {2, 2, 2})};
  const auto outputs = run_op(std::make_shared<MergeRows>(RowExchange{{1, 2, true}, 3, 7}), inputs);
  EXPECT_EQ(outputs[MergeRows::used].values, (Values{2}));
  EXPECT_EQ(outputs[MergeRows::rows].values, (Values{6, 1, -1, -1, -1, -1}));
  EXPECT_EQ(first(outputs[MergeRows::numbers], 4), (Values{0, -1, 1, 1}));
}

TEST(KnownIds, AreThoseWithARow) {
  std::vector<HostTensor> inputs{tensor(DType::i32, Shape{2, 2}, {1, -1, 0, 1}),
                                 tensor(DType::f32, Shape{4, 1}, {0, 1, 0, 0})};
  EXPECT_EQ(run_op(std::make_shared<KnownIds>(), inputs).at(0).values, (Values{1, -1, -1, 1}));
}

TEST(UniqueGradient, AddsUpTheOccurrencesOfAnId) {
  for (const std::int64_t in_bag : {1, 3}) {
    std::vector<HostTensor> inputs{get_ids(DType::i32, {1, 0, -1, 2, 1, 1}), tensor(DType::i32, Shape{2}, {2, 1}),
                                   random_tensor(DType::f32, Shape{6 / in_bag, 5}, 4)};
    const auto sums = run_op(std::make_shared<UniqueGradient>(0.5f), inputs).at(0);
    EXPECT_EQ(sums.desc, (TensorDesc{DType::f32, Shape{6, 5}}));
    Values expected(3 * 5);
    for (std::size_t i = 0; i < 6; ++i) {
      const double number = inputs[0].values[i];
      for (std::size_t c = 0; c < 5 && number >= 0; ++c) {
        expected[static_cast<std::size_t>(number) * 5 + c] +=
            0.5 * inputs[2].values[i / static_cast<std::size_t>(in_bag) * 5 + c];
      }
    }
    expect_close(first(sums, 15), expected, tolerance(DType::f32), "sums");
  }
}

TEST(RowsNorm, IsOfTheUsedRows) {
  std::vector<HostTensor> inputs{random_tensor(DType::f32, Shape{6, 4}, 1), tensor(DType::i32, Shape{1}, {5}),
                                 tensor(DType::f32, Shape{4}, {8, 0, 0, 0})};
  inputs[0].values[22] = std::nan("");  // not used
  const auto norm = [&] { return run_op(std::make_shared<RowsNorm>(), inputs).at(0).values; };
  double squares = 0;
  for (const double value : first(inputs[0], 20)) squares += value * value;
  EXPECT_NEAR(norm()[0], std::sqrt(squares) / 8, 1e-6);
  EXPECT_EQ(norm()[1], 0);
  inputs[1].values[0] = 6;
  EXPECT_EQ(norm()[1], 1);
  inputs[1].values[0] = 0;
  EXPECT_EQ(norm(), (Values{0, 0}));
}

/// Ranks that are threads of the test; each has its own.
class RankCollectives final : public Collectives {
 public:
  struct Group {
    explicit Group(int ranks) : met(ranks), exchanges(static_cast<std::size_t>(ranks)) {}
    std::barrier<> met;
    std::vector<const AllToAll*> exchanges;
  };
  RankCollectives(Group& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int world_size() const override { return static_cast<int>(group_.exchanges.size()); }
  void start_all_reduce(void*, std::int64_t, DType, float) override { FAIL(); }
  void start_reduce_scatter(void*, std::int64_t, DType, float) override { FAIL(); }
  void start_all_gather(void*, std::int64_t, DType) override { FAIL(); }
  void start_all_to_all(AllToAll&& exchange) override {
    ++rounds;
    const auto own = static_cast<std::size_t>(rank_);
    group_.exchanges[own] = &exchange;
    group_.met.arrive_and_wait();
    const std::size_t ranks = group_.exchanges.size();
    for (std::size_t i = 0; i < exchange.received.size(); ++i) {
      const auto sent = group_.exchanges[i % ranks]->sent[i / ranks * ranks + own];
      ASSERT_EQ(sent.size(), exchange.received[i].size());
      std::copy(sent.begin(), sent.end(), exchange.received[i].begin());
    }
    group_.met.arrive_and_wait();
    if (exchange.then) exchange.then();
  }
  void wait_all_reduces() override {}
  void note_progress() override {}
  std::string_view engine() const override { return "test"; }

  int rounds = 0;

 private:
  Group& group_;
  int rank_;
};

/// Of a table, beside which another has one column, of the rows' numbers.
constexpr std::int64_t width = 3, table_rows = 61;
double table_value(double row, std::int64_t column) { return row * 10 + static_cast<double>(column); }

/// What a rank has after it has looked up its ids, and sent row k of them a gradient of rank + 1, and one ten times
/// that of the other table.
struct RankRows {
  Values rows;                          // of its unique ids
  Values unique;                        // in their order
  std::map<std::int64_t, Values> sums;  // of gradients, by row of the whole table
  int rounds = 0;
};

RankRows exchange_on_rank(RankCollectives::Group& group, int rank, DType dtype, const Values& ids) {
  RankCollectives collectives(group, rank);
  TestBackend on;
  on.options.collectives = &collectives;
  const RowShard shard{rank, collectives.world_size()};
  const RowExchange sizes{shard, static_cast<std::int64_t>(ids.size()), shard.size(table_rows)};
  const auto run = [&](OpPtr op, std::vector<HostTensor> inputs) { return run_op(op, inputs, on); };

  const auto unique = run(std::make_shared<UniqueIds>(shard), {get_ids(dtype, ids)});
  const HostTensor& counts = unique[UniqueIds::counts];
  const auto heard = run(std::make_shared<ExchangeCounts>(sizes), {counts}).at(ExchangeCounts::heard);
  const auto received = run(std::make_shared<ExchangeIds>(sizes), {unique[UniqueIds::unique], counts, heard});
  HostTensor table = random_tensor(DType::f32, Shape{sizes.rows, width}, 1);
  HostTensor other = random_tensor(DType::f32, Shape{sizes.rows, 1}, 1);
  for (std::int64_t i = 0; i < table.desc.count(); ++i) {
    const auto row = static_cast<double>(shard.global(i / width));
    table.values[static_cast<std::size_t>(i)] = table_value(row, i % width);
    other.values[static_cast<std::size_t>(i / width)] = row;
  }
  const int before = collectives.rounds;
  const auto rows = run(std::make_shared<ExchangeRows>(sizes), {counts, received[0], received[1], table, other});
  RankRows result;
  result.rounds = collectives.rounds - before;
  double used = 0;
  for (const double count : counts.values) used += count;
  result.rows = first(rows[0], used * width);
  result.unique = first(unique[UniqueIds::unique], used);
  EXPECT_EQ(first(rows[1], used), result.unique);

  const auto merged = run(std::make_shared<MergeRows>(sizes), {received[0], received[1]});
  HostTensor gradient = random_tensor(DType::f32, Shape{sizes.ids, width}, 1);
  HostTensor of_other = random_tensor(DType::f32, Shape{sizes.ids, 1}, 1);
  std::ranges::fill(gradient.values, rank + 1);
  std::ranges::fill(of_other.values, 10 * (rank + 1));
  const auto sums = run(std::make_shared<ExchangeGradients>(sizes),
                        {counts, received[1], merged[MergeRows::numbers], merged[MergeRows::used], gradient, of_other});
  for (std::size_t i = 0; i < static_cast<std::size_t>(merged[MergeRows::used].values[0]); ++i) {
    const auto row = shard.global(static_cast<std::int64_t>(merged[MergeRows::rows].values[i]));
    const auto from = sums[0].values.begin() + static_cast<std::ptrdiff_t>(i) * width;
    result.sums[row] = {from, from + width};
    EXPECT_EQ(sums[1].values[i], 10 * *from);
  }
  return result;
}

std::vector<RankRows> exchange_on_ranks(DType dtype, const std::vector<Values>& ids) {
  RankCollectives::Group group(static_cast<int>(ids.size()));
  std::vector<RankRows> results(ids.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ids.size(); ++rank) {
    threads.emplace_back(
        [&, rank] { results[rank] = exchange_on_rank(group, static_cast<int>(rank), dtype, ids[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

void expect_exchanged(const std::vector<Values>& ids, const std::vector<RankRows>& results) {
  std::map<std::int64_t, double> expected;  // each rank's share of a row's gradient, once
  for (std::size_t rank = 0; rank < ids.size(); ++rank) {
    const RankRows& result = results[rank];
    const std::set<double> different(ids[rank].begin(), ids[rank].end());
    EXPECT_EQ(result.unique.size(), different.size() - different.count(-1));
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      ASSERT_EQ(result.rows[i], table_value(result.unique[i / width], static_cast<std::int64_t>(i) % width));
    }
    for (const double id : result.unique) expected[static_cast<std::int64_t>(id)] += static_cast<double>(rank + 1);
  }
  std::size_t merged = 0;
  for (const RankRows& result : results) {
    merged += result.sums.size();
    for (const auto& [row, sums] : result.sums) EXPECT_EQ(sums, Values(width, expected.at(row))) << row;
  }
  EXPECT_EQ(merged, expected.size());
}

TEST(ExchangedRows, AreThoseOfTheWholeTableAndTheirGradientsAreSums) {
  for (const DType dtype : {DType::i32, DType::i64}) {
    for (const std::size_t ranks : {1u, 2u, 4u, 7u}) {
      std::vector<Values> ids;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        ids.push_back(random_tensor(DType::i32, Shape{50}, 7 + rank, -1, table_rows).values);
      }
      expect_exchanged(ids, exchange_on_ranks(dtype, ids));
    }
  }
}

TEST(ExchangedRows, MayAllBeOneRanks) {
  constexpr std::size_t ranks = 4;
  std::vector<Values> ids(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < 12; ++i) ids[rank].push_back(static_cast<double>((i + rank) * ranks));
  }
  const auto results = exchange_on_ranks(DType::i32, ids);
  expect_exchanged(ids, results);
  EXPECT_EQ(results[0].rounds, 3) << "of 5 rows";
}

/// A rank alone, which is asked for 3 keys in 2 rounds.
TEST(ExchangedRows, OfKeysWithoutARowAreZerosAndHaveNoGradient) {
  RankCollectives::Group group(1);
  RankCollectives collectives(group, 0);
  TestBackend on;
  on.options.collectives = &collectives;
  const RowExchange sizes{{0, 1, true}, 3, 5};
  const HostTensor counts = tensor(DType::i32, Shape{1}, {3}), found = tensor(DType::i32, Shape{3}, {4, -1, 2});
  const HostTensor received_counts = tensor(DType::i32, Shape{2}, {3, 3});
  const HostTensor table = tensor(DType::f32, Shape{5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  std::vector<HostTensor> look_up{counts, found, received_counts, table, absent_tensor()};
  const auto rows = run_op(std::make_shared<ExchangeRows>(sizes), look_up, on);
  EXPECT_EQ(rows[0].values, (Values{8, 9, 0, 0, 4, 5}));
  EXPECT_EQ(rows[1].values, (Values{1, 0, 1})) << "whether they have one";
  std::vector<HostTensor> inputs{counts, received_counts, tensor(DType::i32, Shape{3}, {0, -1, 1}),
                                 tensor(DType::i32, Shape{1}, {2}),
                                 tensor(DType::f32, Shape{3, 2}, {1, 2, 3, 4, 5, 6})};
  EXPECT_EQ(first(run_op(std::make_shared<ExchangeGradients>(sizes), inputs, on).at(0), 4), (Values{1, 2, 5, 6}));
}

TEST(ExchangedRows, MayBeNone) {
  const std::vector<Values> ids{{-1, -1, -1}, {4, -1, 5}};
  expect_exchanged(ids, exchange_on_ranks(DType::i32, ids));
}

TEST(ExchangedRows, NeedMemoryByTheBatchAndTheRowsOfARank) {
  const std::int64_t ids = 26 * 2048, table = 1'000'000;
  for (const int ranks : {2, 8, 64, 1024}) {
    const RowShard shard{0, ranks};
    const RowExchange sizes{shard, ids, shard.size(table)};
    EXPECT_LE(sizes.shard.world_size * sizes.chunk(), ids * 5 / 4 + 2 * ranks);
    EXPECT_LE(sizes.merged(), sizes.rows);
    EXPECT_LE(sizes.received(), table + ranks);
  }
}

TEST(ExchangedRows, RefuseOtherShapes) {
  const RowExchange sizes{{0, 2}, 4, 5};
  const TensorDesc counts{DType::i32, Shape{2}};
  EXPECT_THROW(UniqueIds(sizes.shard).infer(std::vector<TensorDesc>{{DType::f32, Shape{3}}}), std::invalid_argument);
  const TensorDesc heard{DType::i32, Shape{2, 2}};
  EXPECT_THROW(ExchangeCounts(sizes).infer(std::vector<TensorDesc>{{DType::i32, Shape{3}}}), std::invalid_argument);
  EXPECT_THROW(ExchangeIds(sizes).infer(std::vector<TensorDesc>{{DType::i32, Shape{3}}, counts, heard}),
               std::invalid_argument);
  EXPECT_THROW(ExchangeIds(sizes).infer(std::vector<TensorDesc>{{DType::i32, Shape{4}}, counts, counts}),
               std::invalid_argument);
  EXPECT_THROW(
      UniqueGradient(1).infer(std::vector<TensorDesc>{{DType::i32, Shape{4}}, counts, {DType::f32, Shape{3, 5}}}),
      std::invalid_argument);
}

}  // namespace exchanged_rows_test
}  // namespace ptrain::testing

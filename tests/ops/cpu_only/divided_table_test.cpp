#include "core/ops/sparse/divided_table.h"

#include "core/ops/sparse/embedding_bag.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ptrain::testing {
namespace divided_table_test {

TEST(LocalRows, AreTheRankOwnsOfAWholeTable) {
  const std::vector<double> rows{0, 1, 2, 3, 4, 5, -1, 900'000, 900'002};
  const auto on_rank = [&](int rank, int world_size) {
    std::vector<HostTensor> inputs{tensor(DType::i32, Shape{3, 3}, rows)};
    return run_op(std::make_shared<LocalRows>(RowShard{rank, world_size}), inputs).at(0).values;
  };
  EXPECT_EQ(on_rank(0, 3), (std::vector<double>{0, -1, -1, 1, -1, -1, -1, 300'000, -1}));
  EXPECT_EQ(on_rank(2, 3), (std::vector<double>{-1, -1, 0, -1, -1, 1, -1, -1, 300'000}));
  EXPECT_EQ(on_rank(0, 1), rows);
}

TEST(LocalRows, OfAllRanksAreEachRowOnce) {
  constexpr std::int64_t count = 11;
  for (const int world_size : {1, 2, 4, 11, 16}) {
    std::vector<int> found(count);
    for (int rank = 0; rank < world_size; ++rank) {
      const RowShard shard{rank, world_size};
      for (std::int64_t row = 0; row < count; ++row) {
        const std::int64_t local = shard.local(row);
        if (local < 0) continue;
        EXPECT_LT(local, shard.size(count));
        EXPECT_EQ(shard.global(local), row);
        ++found[static_cast<std::size_t>(row)];
      }
    }
    EXPECT_EQ(found, std::vector<int>(count, 1)) << world_size << " ranks";
  }
}

TEST(SumBags, AddsBitForBitAsALookUpDoes) {
  for (const std::int64_t width : {1, 9, 40}) {
    const std::int64_t bags = 37, in_bag = 26;
    std::vector<HostTensor> rows{random_tensor(DType::f32, Shape{bags, in_bag, width}, 5)};
    std::vector<double> every(static_cast<std::size_t>(bags * in_bag));
    std::iota(every.begin(), every.end(), 0.0);
    std::vector<HostTensor> looked_up{tensor(DType::i32, Shape{bags, in_bag}, every),
                                      tensor(DType::f32, Shape{bags * in_bag, width}, rows[0].values)};
    const std::vector<HostTensor> sums = run_op(std::make_shared<SumBags>(), rows);
    EXPECT_EQ(sums.at(0).desc, (TensorDesc{DType::f32, Shape{bags, width}}));
    EXPECT_EQ(sums.at(0).values, run_op(std::make_shared<EmbeddingBag>(), looked_up).at(0).values);
  }
}

TEST(SumBags, AgreesWithTheReference) {
  check_op({std::make_shared<SumBags>(), {random_tensor(DType::f32, Shape{4, 3, 5, 7}, 1)}, [](const auto& in) {
              std::vector<double> sums(4 * 3 * 7);
              for (std::size_t i = 0; i < in[0].values.size(); ++i) sums[i / 35 * 7 + i % 7] += in[0].values[i];
              return std::vector<std::vector<double>>{sums};
            }});
}

TEST(SumBags, RefusesRowsOfNoBag) {
  EXPECT_THROW(SumBags().infer(std::vector<TensorDesc>{{DType::f32, Shape{3}}}), std::invalid_argument);
  EXPECT_THROW(LocalRows({0, 2}).infer(std::vector<TensorDesc>{{DType::f32, Shape{3}}}), std::invalid_argument);
}

}  // namespace divided_table_test
}  // namespace ptrain::testing

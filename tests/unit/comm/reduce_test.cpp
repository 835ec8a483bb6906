// The sum in rank order, its slices, and the cores that ranks get.
#include "core/comm/reduce_in_order.h"

#include "core/base/rank_slice.h"
#include "core/base/rng.h"
#include "core/comm/cores.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ptrain {
namespace {

template <typename T>
std::vector<std::vector<T>> random_buffers(int ranks, std::size_t count) {
  std::vector<std::vector<T>> buffers(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    const RandomStream random{7, static_cast<std::uint64_t>(r), 0};
    for (std::size_t i = 0; i < count; ++i)
      buffers[static_cast<std::size_t>(r)].push_back(T(random.uniform(i) * 4 - 2));
  }
  return buffers;
}

template <typename T>
void expect_ordered_sum(DType dtype) {
  constexpr std::size_t count = 5000;  // more than one run of the loop
  auto buffers = random_buffers<T>(3, count);
  const auto before = buffers;
  std::vector<void*> pointers;
  for (auto& buffer : buffers) pointers.push_back(buffer.data());
  const std::vector<const void*> sources(pointers.begin(), pointers.end());
  reduce_in_order(sources, pointers, count, dtype, 1.0f / 3);
  for (std::size_t i = 0; i < count; ++i) {
    const float sum =
        (static_cast<float>(before[0][i]) + static_cast<float>(before[1][i])) + static_cast<float>(before[2][i]);
    const float expected = static_cast<float>(T(sum * (1.0f / 3)));
    for (const auto& buffer : buffers) ASSERT_EQ(static_cast<float>(buffer[i]), expected) << i;
  }
}

TEST(Reduce, SumsInRankOrderInFp32AndRoundsOnce) {
  expect_ordered_sum<float>(DType::f32);
  expect_ordered_sum<bf16>(DType::bf16);
  expect_ordered_sum<f16>(DType::f16);
}

TEST(Reduce, SlicesCoverABufferOnce) {
  for (const std::int64_t count : {1, 15, 16, 17, 1000, 12345}) {
    for (const int world_size : {1, 2, 3, 7}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < world_size; ++rank) {
        const RankSlice slice = rank_slice(count, rank, world_size);
        EXPECT_EQ(slice.begin, next);
        EXPECT_GE(slice.end, slice.begin);
        next = slice.end;
      }
      EXPECT_EQ(next, count);
    }
  }
  EXPECT_EQ(rank_slice(3 * 26, 1, 3).begin, 26) << "equal slices where they can be";
}

TEST(Shard, SlicesOfAllRanksCoverABufferOnceInBlocks) {
  for (const std::int64_t count : {1, 100, 1000, 12345}) {
    for (const int world_size : {1, 2, 3, 7}) {
      std::vector<int> owners(static_cast<std::size_t>(count), 0);
      std::int64_t kept = 0;
      for (int rank = 0; rank < world_size; ++rank) {
        const Shard shard{rank, world_size, 512};
        for (const RankSlice& slice : shard.slices(count)) {
          EXPECT_TRUE(slice.count() == 0 || slice.begin / 512 == (slice.end - 1) / 512) << "within a block";
          for (std::int64_t i = slice.begin; i < slice.end; ++i) ++owners[static_cast<std::size_t>(i)];
        }
        kept += shard.size(count);
      }
      EXPECT_EQ(owners, std::vector<int>(static_cast<std::size_t>(count), 1));
      EXPECT_LT(kept, count + world_size);
    }
  }
}

TEST(Cores, AreSharedOutWithoutOverlapWhileThereAreEnough) {
  std::vector<int> cores(8);
  std::iota(cores.begin(), cores.end(), 4);
  std::vector<int> all;
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<int> share = share_of_cores(cores, rank, 3);
    EXPECT_GE(share.size(), 2u);
    all.insert(all.end(), share.begin(), share.end());
  }
  EXPECT_EQ(all, cores);
  for (int rank = 0; rank < 20; ++rank) EXPECT_EQ(share_of_cores(cores, rank, 20).size(), 1u);
}

}  // namespace
}  // namespace ptrain

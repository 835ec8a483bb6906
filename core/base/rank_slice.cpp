#include "core/base/rank_slice.h"

#include <algorithm>

namespace ptrain {

RankSlice rank_slice(std::int64_t count, int rank, int world_size) {
  if (count % world_size == 0) return {count / world_size * rank, count / world_size * (rank + 1)};
  constexpr std::int64_t line = 16;  // whole cache lines of fp32
  const std::int64_t lines = (count + line - 1) / line;
  const auto bound = [&](std::int64_t r) { return std::min(count, lines * r / world_size * line); };
  return {bound(rank), bound(rank + 1)};
}

std::vector<RankSlice> Shard::blocks(std::int64_t count) const {
  std::vector<RankSlice> all;
  for (std::int64_t begin = 0; begin < count; begin += block) all.push_back({begin, std::min(count, begin + block)});
  return all;
}

std::int64_t Shard::size(std::int64_t count) const {
  std::int64_t sum = 0;
  for (const RankSlice& slice : slices(count)) sum += slice.count();
  return std::max<std::int64_t>(sum, 1);
}

std::vector<RankSlice> Shard::slices(std::int64_t count) const {
  std::vector<RankSlice> mine = blocks(count);
  for (RankSlice& slice : mine) {
    const auto [begin, end] = rank_slice(slice.count(), rank, world_size);
    slice = {slice.begin + begin, slice.begin + end};
  }
  return mine;
}

}  // namespace ptrain

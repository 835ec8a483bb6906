// How the ranks of a data-parallel run divide a buffer.
#pragma once

#include <cstdint>
#include <vector>

namespace ptrain {

/// Elements [begin, end) of a buffer.
struct RankSlice {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};

/// The slice of a buffer of `count` elements that rank `rank` sums, or owns, for all ranks: equal slices, or else whole
/// cache lines.
RankSlice rank_slice(std::int64_t count, int rank, int world_size);

/// A rank's share of the optimizer state. The flat buffers are exchanged in blocks, and of each block a rank owns its
/// slice: so all ranks take part in every exchange.
struct Shard {
  int rank = 0, world_size = 1;
  std::int64_t block = 0;  // elements

  /// This rank's slices of a buffer of `count` elements, ascending.
  std::vector<RankSlice> slices(std::int64_t count) const;
  /// Elements of all of them, at least 1: every rank has each variable of the state, if only of an element not used.
  std::int64_t size(std::int64_t count) const;
  /// The blocks of such a buffer.
  std::vector<RankSlice> blocks(std::int64_t count) const;
};

}  // namespace ptrain

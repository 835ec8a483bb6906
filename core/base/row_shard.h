// How the ranks of a data-parallel run divide the rows of a table.
#pragma once

#include <cstdint>

namespace ptrain {

/// A rank's rows of a table that the ranks divide. Row r is on rank r mod world_size, as its row r / world_size: round
/// robin, since the ids of frequent words are often neighbours.
struct RowShard {
  int rank = 0, world_size = 1;

  /// Rows that each rank has memory for, of `count` in all: as many on every rank, so that the last may be unused.
  std::int64_t size(std::int64_t count) const { return (count + world_size - 1) / world_size; }
  /// The rank of a row.
  int owner(std::int64_t row) const { return static_cast<int>(row % world_size); }
  /// This rank's number of a row; -1 for one of another rank, and for row -1, which is none.
  std::int64_t local(std::int64_t row) const {
    return row >= 0 && owner(row) == rank ? row / world_size : std::int64_t{-1};
  }
  /// The row that is number `local` here.
  std::int64_t global(std::int64_t local) const { return local * world_size + rank; }
};

}  // namespace ptrain

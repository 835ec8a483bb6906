// How the ranks of a data-parallel run divide the rows of a table.
#pragma once

#include "core/base/hash.h"

#include <algorithm>
#include <cstdint>

namespace ptrain {

/// A rank's rows of a table that the ranks divide. Row r is on rank r mod world_size, as its row r / world_size: round
/// robin, since the ids of frequent words are often neighbours. Of a dynamic table a hash of a key says the rank, which
/// numbers its rows by itself.
struct RowShard {
  int rank = 0, world_size = 1;
  bool by_key = false;  // ids are keys of a dynamic table

  /// Rows that each rank has memory for, of `count` in all: as many on every rank, so that the last may be unused. Of
  /// keys a hash gives some ranks more than others.
  std::int64_t size(std::int64_t count) const {
    const std::int64_t even = (count + world_size - 1) / world_size;
    return by_key ? std::min(count, even + even / 50 + 1024) : even;
  }
  /// The inverse, but for rounding: the rows of all, where each rank has memory for so many.
  std::int64_t count(std::int64_t size) const {
    return by_key ? std::max(size, (size - 1024) * 50 / 51 * world_size) : size * world_size;
  }
  /// Whether an id is one: -1 is none, and others below 0 may be keys alone.
  bool is_id(std::int64_t id) const { return by_key ? id != -1 : id >= 0; }
  /// The rank of an id's row.
  int owner(std::int64_t id) const {
    return static_cast<int>(by_key ? static_cast<std::int64_t>(place(id) >> 64) : id % world_size);
  }
  /// Where in [0, 2^64) a key lies on its rank, evenly.
  std::uint64_t place_on_rank(std::int64_t key) const { return static_cast<std::uint64_t>(place(key)); }
  /// This rank's number of a row; -1 for one of another rank, and for row -1, which is none.
  std::int64_t local(std::int64_t row) const {
    return row >= 0 && owner(row) == rank ? row / world_size : std::int64_t{-1};
  }
  /// The row that is number `local` here.
  std::int64_t global(std::int64_t local) const { return local * world_size + rank; }

 private:
  __extension__ using Place = unsigned __int128;
  /// Of a key in [0, world_size) times 2^64. Ranks have consecutive parts of the hashes.
  Place place(std::int64_t key) const {
    return Place{mixed64(static_cast<std::uint64_t>(key))} * static_cast<std::uint64_t>(world_size);
  }
};

}  // namespace ptrain

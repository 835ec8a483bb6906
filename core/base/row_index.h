// Numbers the rows of a table that grows: which row a 64-bit key has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ptrain {

/// Names of the tensors of a model's row index among its variables.
namespace row_index {
inline constexpr const char* keys = "row_index.keys";      // i64 [capacity]
inline constexpr const char* slots = "row_index.slots";    // i32 [RowIndex::slots_for(capacity)]
inline constexpr const char* counts = "row_index.counts";  // i64 [RowIndex::counts_size]
inline constexpr const char* seen = "row_index.seen";      // u8 [RowIndex::counters_for(capacity)]
inline constexpr const char* scores = "row_index.scores";  // f32 [capacity]
inline constexpr const char* freed = "row_index.freed";    // i32 [capacity]
}  // namespace row_index

/// A view of an index's tensors. Keys get consecutive rows in the order in which they are inserted, or rows that others
/// had before. Slots are searched by linear probing; of them only the first power of two of at least twice the rows in
/// use is used, so that a table of few rows touches little memory. Zeroed memory is an empty index.
class RowIndex {
 public:
  enum Count {
    rows,        // that have been numbered, those on the free list included
    freed,       // rows on the free list
    slot_bits,   // log2 of the slots in use
    steps,       // of training
    unadmitted,  // occurrences in training of keys without a row
    evicted,     // rows, since training began
    ahead,       // 1: the next step's keys have been counted, and its rows made
    counts_size = 8
  };
  static constexpr std::int64_t no_key = -1;
  static constexpr std::int32_t no_row = -1;

  static std::int64_t slots_for(std::int64_t capacity);
  /// Counters of occurrences, more than rows: keys without a row have them too.
  static std::int64_t counters_for(std::int64_t capacity);
  /// Of so many, the counter at `place` in [0, 2^64), which a hash of the key gives.
  static std::size_t counter_at(std::uint64_t place, std::int64_t counters);
  /// Counts of as many counters as `resized` has: the largest of those at the same places.
  static void resize_counters(std::span<const std::uint8_t> counters, std::span<std::uint8_t> resized);

  RowIndex(std::span<std::int64_t> keys, std::span<std::int32_t> slots, std::span<std::int64_t> counts)
      : keys_(keys), slots_(slots), counts_(counts) {}

  std::int64_t capacity() const { return static_cast<std::int64_t>(keys_.size()); }
  std::span<const std::int64_t> keys() const { return keys_; }
  std::int64_t in_use() const { return counts_[rows] - counts_[freed]; }

  /// The row of a key, or no_row.
  std::int32_t find(std::int64_t key) const { return counts_[slot_bits] == 0 ? no_row : resolve(key, first_slot(key)); }
  /// The rows of all keys; waits for memory once for a group of them.
  void find(std::span<const std::int64_t> keys, std::int32_t* found) const;

  /// Gives a key that has none the next row that was never used; there must be one.
  std::int32_t append(std::int64_t key);
  /// Gives a key that has none this row, which no key has.
  void assign(std::int64_t key, std::int32_t row);
  /// Takes its row from a key.
  void erase(std::int32_t row);
  /// Fills the slots anew from the keys of the first counts[rows] rows; does nothing where there are none.
  void rebuild();

 private:
  std::size_t mask() const { return (std::size_t{1} << counts_[slot_bits]) - 1; }
  std::size_t first_slot(std::int64_t key) const;
  std::int32_t resolve(std::int64_t key, std::size_t slot) const;
  void place(std::int32_t row);
  void make_room(std::int64_t in_use);

  std::span<std::int64_t> keys_;   // no_key for rows on the free list
  std::span<std::int32_t> slots_;  // row + 1; 0: empty
  std::span<std::int64_t> counts_;
};

}  // namespace ptrain

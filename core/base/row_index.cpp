#include "core/base/row_index.h"

#include "core/base/errors.h"

#include <algorithm>
#include <array>
#include <bit>

namespace ptrain {
namespace {

__extension__ using Product = unsigned __int128;

constexpr std::int64_t least_slots = 1024;

}  // namespace

std::int64_t RowIndex::slots_for(std::int64_t capacity) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(least_slots, 2 * capacity))));
}

std::int64_t RowIndex::counters_for(std::int64_t capacity) { return 4 * slots_for(capacity); }

std::size_t RowIndex::counter_at(std::uint64_t place, std::int64_t counters) {
  return static_cast<std::size_t>(Product{place} * static_cast<std::uint64_t>(counters) >> 64);
}

void RowIndex::resize_counters(std::span<const std::uint8_t> counters, std::span<std::uint8_t> resized) {
  const std::size_t from = counters.size(), to = resized.size();
  for (std::size_t i = 0; i < to; ++i) {
    const auto begin = static_cast<std::size_t>(Product{i} * from / to);
    const auto end = static_cast<std::size_t>((Product{i + 1} * from + to - 1) / to);
    resized[i] = std::ranges::max(counters.subspan(begin, end - begin));
  }
}

/// The high bits of the product with 2^64 over the golden ratio: all bits of the key change them.
std::size_t RowIndex::first_slot(std::int64_t key) const {
  return static_cast<std::size_t>(static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15u >> (64 - counts_[slot_bits]));
}

std::int32_t RowIndex::resolve(std::int64_t key, std::size_t slot) const {
  for (;; slot = (slot + 1) & mask()) {
    const std::int32_t row = slots_[slot] - 1;
    if (row < 0 || keys_[static_cast<std::size_t>(row)] == key) return row;
  }
}

void RowIndex::find(std::span<const std::int64_t> keys, std::int32_t* found) const {
  constexpr std::size_t group = 16;
  if (counts_[slot_bits] == 0) return void(std::fill_n(found, keys.size(), no_row));
  std::array<std::size_t, group> slots{};
  for (std::size_t begin = 0; begin < keys.size(); begin += group) {
    const std::size_t count = std::min(group, keys.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      slots[i] = first_slot(keys[begin + i]);
      __builtin_prefetch(&slots_[slots[i]]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t row = slots_[slots[i]] - 1;
      if (row >= 0) __builtin_prefetch(&keys_[static_cast<std::size_t>(row)]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t key = keys[begin + i];
      found[begin + i] = key == no_key ? no_row : resolve(key, slots[i]);
    }
  }
}

std::int32_t RowIndex::append(std::int64_t key) {
  invariant(counts_[rows] < capacity(), "a full table gets another row");
  const auto row = static_cast<std::int32_t>(counts_[rows]);
  keys_[static_cast<std::size_t>(row)] = no_key;  // so that making room leaves it out
  ++counts_[rows];
  assign(key, row);
  return row;
}

void RowIndex::assign(std::int64_t key, std::int32_t row) {
  make_room(in_use());
  keys_[static_cast<std::size_t>(row)] = key;
  place(row);
}

void RowIndex::place(std::int32_t row) {
  std::size_t slot = first_slot(keys_[static_cast<std::size_t>(row)]);
  while (slots_[slot] != 0) slot = (slot + 1) & mask();
  slots_[slot] = row + 1;
}

/// Closes the gap with the rows after it that would no longer be found (Knuth, The Art of Computer Programming, volume
/// 3, 6.4, algorithm R).
void RowIndex::erase(std::int32_t row) {
  std::size_t gap = first_slot(keys_[static_cast<std::size_t>(row)]);
  while (slots_[gap] != row + 1) gap = (gap + 1) & mask();
  for (std::size_t slot = (gap + 1) & mask(); slots_[slot] != 0; slot = (slot + 1) & mask()) {
    const std::size_t first = first_slot(keys_[static_cast<std::size_t>(slots_[slot] - 1)]);
    const bool passes_gap = ((slot - first) & mask()) >= ((slot - gap) & mask());
    if (!passes_gap) continue;
    slots_[gap] = slots_[slot];
    gap = slot;
  }
  slots_[gap] = 0;
  keys_[static_cast<std::size_t>(row)] = no_key;
}

void RowIndex::make_room(std::int64_t in_use) {
  const std::int64_t slots = counts_[slot_bits] == 0 ? 0 : std::int64_t{1} << counts_[slot_bits];
  if (2 * in_use > slots) rebuild();
}

void RowIndex::rebuild() {
  if (slots_.empty()) return;
  const auto used = static_cast<std::size_t>(slots_for(in_use()));
  counts_[slot_bits] = std::countr_zero(used);
  std::fill_n(slots_.begin(), used, 0);
  for (std::int64_t row = 0; row < counts_[rows]; ++row) {
    if (keys_[static_cast<std::size_t>(row)] != no_key) place(static_cast<std::int32_t>(row));
  }
}

}  // namespace ptrain

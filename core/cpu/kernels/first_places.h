// First occurrences of ids, in one pass over them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ptrain::cpu {

/// Open addressing in memory of the caller's; half of the slots stay empty.
class FirstPlaces {
 public:
  static std::size_t slots_for(std::int64_t count) { return std::bit_ceil(static_cast<std::size_t>(count) * 2); }

  FirstPlaces(std::int32_t* slots, std::size_t count) : slots_(slots), mask_(count - 1) {
    std::fill(slots, slots + count, -1);
  }

  /// Which of `parts`, each with a table of its own, an id belongs to.
  static int find_part(std::int32_t id, int parts) {
    return static_cast<int>(static_cast<std::uint64_t>(multiplied(id)) * static_cast<std::uint64_t>(parts) >> 32);
  }

  /// The first place with the id of `ids[place]`; `place` if there was none before.
  template <typename Id>
  std::int32_t operator()(const Id* ids, std::int32_t place) {
    for (std::size_t slot = spread(ids[place]) & mask_;; slot = (slot + 1) & mask_) {
      if (slots_[slot] < 0) return slots_[slot] = place;
      if (ids[slots_[slot]] == ids[place]) return slots_[slot];
    }
  }

 private:
  static std::uint32_t multiplied(std::int32_t id) {
    return static_cast<std::uint32_t>(id) * 2654435769u;  // 2^32 over the golden ratio
  }
  static std::size_t spread(std::int32_t id) { return multiplied(id) ^ multiplied(id) >> 15; }
  static std::size_t spread(std::int64_t id) {
    const std::uint64_t spread = static_cast<std::uint64_t>(id) * 11400714819323198485u;  // and 2^64
    return spread ^ spread >> 32;
  }

  std::int32_t* slots_;
  std::size_t mask_;
};

}  // namespace ptrain::cpu

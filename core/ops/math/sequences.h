// Where the sequences of a batch lie among its tokens.
#pragma once

#include "core/base/host_device.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// Padded sequences, one every `length` tokens; or packed ones, concatenated at `offsets`.
struct SequencePlaces {
  std::int64_t count = 0;
  std::int64_t length = 0;                // length of a padded sequence
  const std::int32_t* offsets = nullptr;  // [count + 1] of packed ones: their first tokens, and the end of the last
  const std::int32_t* past = nullptr;     // [count]: tokens of packed ones before these; null: none

  /// First token of a sequence, and its end (padded: the end of its padding).
  PTRAIN_HD std::int64_t begin(std::int64_t sequence) const {
    return offsets != nullptr ? offsets[sequence] : sequence * length;
  }
  PTRAIN_HD std::int64_t end(std::int64_t sequence) const { return begin(sequence + 1); }
  /// End of the last sequence; tokens after it belong to no sequence.
  PTRAIN_HD std::int64_t end() const { return begin(count); }

  /// The sequence of a packed token; -1 after the last one.
  PTRAIN_HD std::int64_t find(std::int64_t token) const {
    if (token >= end()) return -1;
    std::int64_t sequence = 0, beyond = count;  // begins at or before the token; begins after it
    while (beyond - sequence > 1) {
      const std::int64_t middle = sequence + (beyond - sequence) / 2;
      (offsets[middle] <= token ? sequence : beyond) = middle;
    }
    return sequence;
  }
  /// The position of a token in its sequence; -1 after the last sequence.
  PTRAIN_HD std::int64_t position(std::int64_t token) const {
    if (offsets == nullptr) return token % length;
    const std::int64_t sequence = find(token);
    return sequence < 0 ? -1 : position(token, sequence);
  }
  /// The same for a packed token of that sequence.
  PTRAIN_HD std::int64_t position(std::int64_t token, std::int64_t sequence) const {
    return token - offsets[sequence] + (past == nullptr ? 0 : past[sequence]);
  }
};

/// The places for a kernel whose `inputs` have offsets at `slot` if the sequences are packed, and end before it if not;
/// the tokens before them may follow the offsets.
inline SequencePlaces sequence_places(std::int64_t count, std::int64_t length, std::span<void* const> inputs,
                                      std::size_t slot) {
  const auto get = [&](std::size_t i) {
    return inputs.size() > i ? static_cast<const std::int32_t*>(inputs[i]) : nullptr;
  };
  return {count, length, get(slot), get(slot + 1)};
}

}  // namespace ptrain

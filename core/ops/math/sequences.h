// Where the sequences of a batch lie among its tokens.
#pragma once

#include "core/base/host_device.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// Sequences every `length` tokens, the rest of each padding; or packed, one behind the other, as `offsets` say.
struct SequencePlaces {
  std::int64_t count = 0;
  std::int64_t length = 0;                // of a padded one
  const std::int32_t* offsets = nullptr;  // [count + 1] of packed ones: their first tokens, and the end of the last

  /// A sequence's first token, and the end of its tokens or, padded, of its padding.
  PTRAIN_HD std::int64_t begin(std::int64_t sequence) const {
    return offsets != nullptr ? offsets[sequence] : sequence * length;
  }
  PTRAIN_HD std::int64_t end(std::int64_t sequence) const { return begin(sequence + 1); }
  /// Where the tokens of the last one end; what lies behind belongs to no sequence.
  PTRAIN_HD std::int64_t end() const { return begin(count); }

  /// The position of a token in its sequence; -1 behind the last one.
  PTRAIN_HD std::int64_t position(std::int64_t token) const {
    if (offsets == nullptr) return token % length;
    if (token >= end()) return -1;
    std::int64_t sequence = 0, beyond = count;  // begins at or before the token; begins behind it
    while (beyond - sequence > 1) {
      const std::int64_t middle = sequence + (beyond - sequence) / 2;
      (offsets[middle] <= token ? sequence : beyond) = middle;
    }
    return token - offsets[sequence];
  }
};

/// Of a kernel whose `inputs` have offsets at `slot` where the sequences are packed, and end before it where not.
inline SequencePlaces sequence_places(std::int64_t count, std::int64_t length, std::span<void* const> inputs,
                                      std::size_t slot) {
  return {count, length, inputs.size() > slot ? static_cast<const std::int32_t*>(inputs[slot]) : nullptr};
}

}  // namespace ptrain

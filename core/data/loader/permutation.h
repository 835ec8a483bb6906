// A random order of 0 .. count-1 that can be read at any position without being stored: a Feistel network over the next
// power of four, iterated until the result is in the range (Black and Rogaway, "Ciphers with arbitrary finite domains",
// 2002). Philox is the round function.
#pragma once

#include "core/base/rng.h"
#include "core/data/sample_random.h"

#include <cstdint>

namespace ptrain {

class Permutation {
 public:
  Permutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t count, DataStream use = DataStream::shuffle)
      : stream_{seed, epoch, static_cast<std::uint32_t>(use)}, count_(static_cast<std::uint64_t>(count)) {
    while ((std::uint64_t{1} << (2 * half_bits_)) < count_) ++half_bits_;
    mask_ = static_cast<std::uint32_t>((std::uint64_t{1} << half_bits_) - 1);
  }

  /// The index at `position`, 0 <= position < count.
  std::int64_t operator[](std::int64_t position) const {
    std::uint64_t value = static_cast<std::uint64_t>(position);
    do value = shuffle(value);
    while (value >= count_);
    return static_cast<std::int64_t>(value);
  }

 private:
  std::uint64_t shuffle(std::uint64_t value) const {
    auto left = static_cast<std::uint32_t>(value >> half_bits_) & mask_;
    auto right = static_cast<std::uint32_t>(value) & mask_;
    for (std::uint32_t round = 0; round < 6; ++round) {
      const Philox4 noise =
          philox({right, stream_.stream + (round << 8), static_cast<std::uint32_t>(stream_.step),
                  static_cast<std::uint32_t>(stream_.step >> 32)},
                 static_cast<std::uint32_t>(stream_.seed), static_cast<std::uint32_t>(stream_.seed >> 32));
      const std::uint32_t next = left ^ (noise.x & mask_);
      left = right;
      right = next;
    }
    return (std::uint64_t{left} << half_bits_) | right;
  }

  RandomStream stream_;
  std::uint64_t count_;
  std::uint32_t mask_ = 0;
  int half_bits_ = 1;
};

}  // namespace ptrain

// A random order of 0 .. count-1 that can be read at any position without being stored: a Feistel network over the next
// power of four, iterated until the result is in the range (Black and Rogaway, "Ciphers with arbitrary finite domains",
// 2002). Philox is the round function.
#pragma once

#include "core/base/rng.h"
#include "core/data/sample_random.h"

#include <algorithm>
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

/// A random order that goes over 0 .. count-1 in windows: blocks of consecutive numbers come in random order, and the
/// numbers of `blocks_per_window` blocks, one after the other in it, are mixed. So a file in which samples lie in their
/// order is read block by block.
class WindowedPermutation {
 public:
  static constexpr std::int64_t blocks_per_window = 64;

  /// About `window` numbers are mixed; 0: all.
  WindowedPermutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t count, std::int64_t window)
      : seed_(seed),
        epoch_(epoch),
        count_(count),
        block_(window < count ? std::max<std::int64_t>(1, window / blocks_per_window) : 1),
        blocks_(count / block_),
        // Other numbers begin and end blocks in each epoch, and others are outside whole blocks.
        shift_(block_ == 1 ? 0 : Permutation(seed, epoch, count, DataStream::window)[0]),
        order_(seed, epoch, blocks_) {}

  std::int64_t operator[](std::int64_t position) const {
    if (block_ == 1) return order_[position];
    return (place(position) + shift_) % count_;
  }

 private:
  /// Those outside whole blocks come last.
  std::int64_t place(std::int64_t position) const {
    if (position >= blocks_ * block_) return position;
    const std::int64_t window = position / (blocks_per_window * block_), first = window * blocks_per_window;
    const std::int64_t mixed = std::min(blocks_per_window, blocks_ - first) * block_;
    const Permutation within(seed_, epoch_ ^ static_cast<std::uint64_t>(window + 1) << 24, mixed, DataStream::window);
    const std::int64_t drawn = within[position % (blocks_per_window * block_)];
    return order_[first + drawn / block_] * block_ + drawn % block_;
  }

  std::uint64_t seed_, epoch_;
  std::int64_t count_, block_, blocks_, shift_;
  Permutation order_;
};

}  // namespace ptrain

// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// The same (seed, step, stream, element) gives the same number on every backend, rank count and resume.
#pragma once

#include "core/base/host_device.h"

#include <cstdint>

namespace ptrain {

struct Philox4 {
  std::uint32_t x, y, z, w;
};

/// One Philox4x32-10 block: four words from a 128-bit counter and a 64-bit key.
PTRAIN_HD inline Philox4 philox(Philox4 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * counter.x;
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * counter.z;
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter.y ^ key0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter.w ^ key1, static_cast<std::uint32_t>(p0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// Uniform in [0, 1) with 24 bits.
PTRAIN_HD inline float to_uniform(std::uint32_t bits) { return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f); }

/// Identifies a stream of random numbers: a run's seed, the training step, and the consumer.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t stream = 0;

  /// The four words for elements 4*block .. 4*block+3 (block < 2^32).
  PTRAIN_HD Philox4 block(std::uint64_t index) const {
    return philox({static_cast<std::uint32_t>(index), stream, static_cast<std::uint32_t>(step),
                   static_cast<std::uint32_t>(step >> 32)},
                  static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  }
  /// The word of one element.
  PTRAIN_HD std::uint32_t bits(std::uint64_t element) const {
    const Philox4 four = block(element / 4);
    const std::uint32_t lane = static_cast<std::uint32_t>(element % 4);
    return lane == 0 ? four.x : lane == 1 ? four.y : lane == 2 ? four.z : four.w;
  }
  /// Uniform in [0, 1) with 24 bits.
  PTRAIN_HD float uniform(std::uint64_t element) const { return to_uniform(bits(element)); }
};

}  // namespace ptrain

// Random draws for one sample in one epoch: the same for any worker, rank count and resume.
#pragma once

#include "core/base/rng.h"

#include <cmath>
#include <cstdint>

namespace ptrain {

/// Uses of random numbers in data loading; each is a separate Philox stream.
enum class DataStream : std::uint32_t {
  shuffle = 0xDA7A0001u,
  augment = 0xDA7A0002u,
  synthetic = 0xDA7A0003u,
  split = 0xDA7A0004u,
  erase = 0xDA7A0005u,
  mix = 0xDA7A0006u,
  change = 0xDA7A0007u,
  balance = 0xDA7A0008u,
  frames = 0xDA7A0009u,
  size = 0xDA7A000Au,
  negatives = 0xDA7A000Bu,
  groups = 0xDA7A000Cu,
  window = 0xDA7A000Du
};

/// Consecutive draws from the numbers of (seed, epoch, sample index). A sample has 64 draws before it would reuse the
/// next sample's; augmentation needs at most 43.
class SampleRandom {
 public:
  SampleRandom(std::uint64_t seed, std::uint64_t epoch, std::int64_t index, DataStream stream = DataStream::augment)
      : stream_{seed, epoch, static_cast<std::uint32_t>(stream)}, element_(static_cast<std::uint64_t>(index) * 64) {}

  /// The same sample's draws from another stream.
  SampleRandom in(DataStream stream) const {
    SampleRandom other = *this;
    other.stream_.stream = static_cast<std::uint32_t>(stream);
    return other;
  }

  /// Uniform in [0, 1).
  float uniform() { return stream_.uniform(element_++); }
  /// Uniform in [low, high).
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// Uniform in 0 .. count-1.
  int below(int count) {
    return static_cast<int>(
        (static_cast<std::uint64_t>(stream_.bits(element_++)) * static_cast<std::uint64_t>(count)) >> 32);
  }

 private:
  RandomStream stream_;
  std::uint64_t element_;
};

}  // namespace ptrain

#include "core/cpu/simd/dropout_factors.h"

#include "core/cpu/simd/vector.h"

#include <algorithm>

namespace ptrain::cpu {
namespace {

using u64x8 = std::uint64_t __attribute__((vector_size(64)));

/// The 64-bit products of the low halves; the high halves may hold anything.
PTRAIN_INLINE u64x8 multiply_low_halves(u64x8 a, std::uint32_t b) {
#ifdef __AVX512F__
  return reinterpret_cast<u64x8>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(static_cast<long long>(b))));
#else
  return (a & 0xffffffffu) * static_cast<std::uint64_t>(b);
#endif
}

/// The low halves of sixteen 64-bit lanes.
PTRAIN_INLINE u32x16 low_words(const u64x8 (&v)[2]) {
  return __builtin_shufflevector(reinterpret_cast<u32x16>(v[0]), reinterpret_cast<u32x16>(v[1]), 0, 2, 4, 6, 8, 10, 12,
                                 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

/// The four words of the sixteen Philox blocks from `first` on: RandomStream::block, in lanes.
PTRAIN_INLINE void sixteen_blocks(const RandomStream& random, std::uint64_t first, u32x16 (&words)[4]) {
  u64x8 x[2], y[2], z[2], w[2];
  for (int half = 0; half < 2; ++half) {
    const u64x8 zero{};
    x[half] = u64x8{0, 1, 2, 3, 4, 5, 6, 7} + (first + 8 * static_cast<std::uint64_t>(half));
    y[half] = zero + random.stream;
    z[half] = zero + (random.step & 0xffffffffu);
    w[half] = zero + (random.step >> 32);
  }
  auto key0 = static_cast<std::uint32_t>(random.seed);
  auto key1 = static_cast<std::uint32_t>(random.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int half = 0; half < 2; ++half) {
      const u64x8 p0 = multiply_low_halves(x[half], 0xD2511F53u);
      const u64x8 p1 = multiply_low_halves(z[half], 0xCD9E8D57u);
      x[half] = (p1 >> 32) ^ y[half] ^ static_cast<std::uint64_t>(key0);
      z[half] = (p0 >> 32) ^ w[half] ^ static_cast<std::uint64_t>(key1);
      y[half] = p1;
      w[half] = p0;
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  words[0] = low_words(x);
  words[1] = low_words(y);
  words[2] = low_words(z);
  words[3] = low_words(w);
}

/// The factors of one aligned group of 128 elements.
void group_factors(const DropoutMask& mask, std::uint64_t group, float* factors) {
  u32x16 words[4];
  sixteen_blocks(mask.random, group * lanes, words);
  const u32x16 scale = u32x16{} + bits_of(mask.scale);
  for (int word = 0; word < 4; ++word) {
    const u32x16 bits = words[word];
    const u32x16 low = reinterpret_cast<u32x16>((bits & 0xffffu) >= mask.threshold) & scale;
    const u32x16 high = reinterpret_cast<u32x16>((bits >> 16) >= mask.threshold) & scale;
    memcpy(factors + word * lanes, &low, sizeof low);
    memcpy(factors + (4 + word) * lanes, &high, sizeof high);
  }
}

}  // namespace

void dropout_factors(const DropoutMask& mask, std::uint64_t first, std::int64_t count, float* factors) {
  constexpr auto group_size = static_cast<std::int64_t>(DropoutMask::group);
  float buffer[DropoutMask::group];
  std::int64_t done = 0;
  while (done < count) {
    const std::uint64_t element = mask.origin + first + static_cast<std::uint64_t>(done);
    const auto skip = static_cast<std::int64_t>(element % DropoutMask::group);
    const std::int64_t part = std::min(group_size - skip, count - done);
    if (part == group_size) {
      group_factors(mask, element / DropoutMask::group, factors + done);
    } else {
      group_factors(mask, element / DropoutMask::group, buffer);
      memcpy(factors + done, buffer + skip, static_cast<std::size_t>(part) * sizeof(float));
    }
    done += part;
  }
}

}  // namespace ptrain::cpu

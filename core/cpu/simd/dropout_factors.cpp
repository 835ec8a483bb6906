#include "core/cpu/simd/dropout_factors.h"

#include "core/cpu/simd/vector.h"

#include <algorithm>
#include <utility>

namespace ptrain::cpu {
namespace {

using Words = Register<std::uint32_t>;
using WideWords = Register<std::uint64_t, register_lanes / 2>;

/// The 64-bit products of the low halves; the high halves are ignored.
PTRAIN_INLINE WideWords multiply_low_halves(WideWords a, std::uint32_t b) {
#if defined(__AVX512F__)
  return reinterpret_cast<WideWords>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(static_cast<long long>(b))));
#elif defined(__AVX2__)
  return reinterpret_cast<WideWords>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(b)));
#else
  return (a & 0xffffffffu) * static_cast<std::uint64_t>(b);
#endif
}

/// The low halves of the lanes of both inputs.
template <int... i>
PTRAIN_INLINE Words low_words(const WideWords (&v)[2], std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(reinterpret_cast<Words>(v[0]), reinterpret_cast<Words>(v[1]), (2 * i)...);
}

/// The four words of a register's Philox blocks from `first` on: RandomStream::block, in lanes.
PTRAIN_INLINE void philox_blocks(const RandomStream& random, std::uint64_t first, Words (&words)[4]) {
  constexpr int wide = register_lanes / 2;
  WideWords x[2], y[2], z[2], w[2];
  for (int half = 0; half < 2; ++half) {
    const WideWords zero{};
    x[half] = zero + first;
    for (int i = 0; i < wide; ++i) x[half][i] += static_cast<std::uint64_t>(half * wide + i);
    y[half] = zero + random.stream;
    z[half] = zero + (random.step & 0xffffffffu);
    w[half] = zero + (random.step >> 32);
  }
  auto key0 = static_cast<std::uint32_t>(random.seed);
  auto key1 = static_cast<std::uint32_t>(random.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int half = 0; half < 2; ++half) {
      const WideWords p0 = multiply_low_halves(x[half], 0xD2511F53u);
      const WideWords p1 = multiply_low_halves(z[half], 0xCD9E8D57u);
      x[half] = (p1 >> 32) ^ y[half] ^ static_cast<std::uint64_t>(key0);
      z[half] = (p0 >> 32) ^ w[half] ^ static_cast<std::uint64_t>(key1);
      y[half] = p1;
      w[half] = p0;
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  constexpr std::make_integer_sequence<int, register_lanes> each;
  words[0] = low_words(x, each);
  words[1] = low_words(y, each);
  words[2] = low_words(z, each);
  words[3] = low_words(w, each);
}

/// The factors of one aligned group of 128 elements.
void group_factors(const DropoutMask& mask, std::uint64_t group, float* factors) {
  const Words scale = Words{} + float_to_bits(mask.scale);
  for (int lane = 0; lane < lanes; lane += register_lanes) {
    Words words[4];
    philox_blocks(mask.random, group * lanes + static_cast<std::uint64_t>(lane), words);
    for (int word = 0; word < 4; ++word) {
      const Words low = words[word] & 0xffffu, high = words[word] >> 16;
      store_register(factors + word * lanes + lane, low >= mask.threshold ? scale : Words{});
      store_register(factors + (4 + word) * lanes + lane, high >= mask.threshold ? scale : Words{});
    }
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

// Sixteen floats at a time: loads and stores that convert from and to the storage types. Arithmetic on f32x16 is the
// compiler's (GCC and Clang vector extension), so one source serves AVX2, AVX-512 and Neon.
#pragma once

#include "core/base/dtype.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>

#pragma GCC diagnostic ignored "-Wpsabi"  // everything here is inlined; no vector crosses a call

namespace ptrain::cpu {

using f32x16 = float __attribute__((vector_size(64)));
using u8x16 = std::uint8_t __attribute__((vector_size(16)));
using s8x16 = std::int8_t __attribute__((vector_size(16)));
using u16x16 = std::uint16_t __attribute__((vector_size(32)));
using u32x16 = std::uint32_t __attribute__((vector_size(64)));
inline constexpr int lanes = 16;

#define PTRAIN_INLINE inline __attribute__((always_inline))

/// `value` in every lane.
PTRAIN_INLINE f32x16 splat(float value) { return value - f32x16{}; }

/// 16 elements from or to memory, aligned or not, widened and rounded to nearest where they are of 16 bits.
PTRAIN_INLINE f32x16 load16(const float* from) {
  f32x16 v;
  memcpy(&v, from, sizeof v);
  return v;
}
PTRAIN_INLINE void store16(float* to, f32x16 v) { memcpy(to, &v, sizeof v); }

/// Bit i is 1 where lane i is above zero, and `v` where bits are 1, with zeros elsewhere.
PTRAIN_INLINE std::uint16_t positive_bits(f32x16 v) {
#ifdef __AVX512F__
  return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(v), _mm512_setzero_ps(), _CMP_GT_OQ);
#else
  unsigned bits = 0;
#ifdef __x86_64__
  const auto half_bits = [](auto half) {
    const __m256 positive = _mm256_cmp_ps(reinterpret_cast<__m256>(half), _mm256_setzero_ps(), _CMP_GT_OQ);
    return static_cast<unsigned>(_mm256_movemask_ps(positive));
  };
  bits = half_bits(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7)) |
         half_bits(__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)) << 8;
#else
  for (int i = 0; i < lanes; ++i) bits |= static_cast<unsigned>(v[i] > 0) << i;
#endif
  return static_cast<std::uint16_t>(bits);
#endif
}
PTRAIN_INLINE f32x16 where_bits(std::uint16_t bits, f32x16 v) {
#ifdef __AVX512F__
  return reinterpret_cast<f32x16>(_mm512_maskz_mov_ps(bits, reinterpret_cast<__m512>(v)));
#else
  const u32x16 lane_bits = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  return (lane_bits & static_cast<std::uint32_t>(bits)) != 0 ? v : f32x16{};
#endif
}

/// The sum of all lanes, by halves.
PTRAIN_INLINE float total(f32x16 v) {
  float sums[lanes];
  store16(sums, v);
  for (int width = lanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

/// As of floats.
PTRAIN_INLINE f32x16 load16(const bf16* from) {
  u16x16 bits;
  memcpy(&bits, from, sizeof bits);
  return reinterpret_cast<f32x16>(__builtin_convertvector(bits, u32x16) << 16);
}

#ifdef __AVX512F__  // the zero-masked forms: GCC 12 warns of the plain ones
PTRAIN_INLINE f32x16 load16(const f16* from) {
  return reinterpret_cast<f32x16>(
      _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
}
PTRAIN_INLINE void store16(f16* to, f32x16 v) {
  const __m256i bits = _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bits);
}
#elif defined(__x86_64__)
PTRAIN_INLINE f32x16 load16(const f16* from) {
  f32x16 v;
  for (int half = 0; half < 2; ++half) {
    const __m256 part = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 8 * half)));
    memcpy(reinterpret_cast<float*>(&v) + 8 * half, &part, sizeof part);
  }
  return v;
}
PTRAIN_INLINE void store16(f16* to, f32x16 v) {
  for (int half = 0; half < 2; ++half) {
    __m256 part;
    memcpy(&part, reinterpret_cast<const float*>(&v) + 8 * half, sizeof part);
    const __m128i bits = _mm256_cvtps_ph(part, _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 8 * half), bits);
  }
}
#else
using binary16x16 = __fp16 __attribute__((vector_size(32)));
PTRAIN_INLINE f32x16 load16(const f16* from) {
  binary16x16 v;
  memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, f32x16);
}
PTRAIN_INLINE void store16(f16* to, f32x16 v) {
  const auto halves = __builtin_convertvector(v, binary16x16);
  memcpy(static_cast<void*>(to), &halves, sizeof halves);
}
#endif

/// As of floats.
PTRAIN_INLINE void store16(bf16* to, f32x16 v) {
#ifdef __AVX512BF16__
  const auto bits = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(v));
  memcpy(static_cast<void*>(to), &bits, sizeof bits);
#else
  for (int i = 0; i < lanes; ++i) to[i] = bf16(v[i]);
#endif
}

/// Ties to even; what is out of range becomes the least or the most, what is no number 0.
template <typename Vector>
PTRAIN_INLINE void store_integers(void* to, f32x16 v, float least, float most) {
  v = v < splat(least) ? splat(least) : v;
  v = v > splat(most) ? splat(most) : v;
  const f32x16 shifted = v + splat(0x1.8p23f);  // whose low bits are the integer
  const Vector integers = __builtin_convertvector(reinterpret_cast<u32x16>(shifted), Vector);
  memcpy(to, &integers, sizeof integers);
}

/// As of floats, by store_integers.
PTRAIN_INLINE f32x16 load16(const std::uint8_t* from) {
  u8x16 v;
  memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, f32x16);
}
PTRAIN_INLINE f32x16 load16(const std::int8_t* from) {
  s8x16 v;
  memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, f32x16);
}
PTRAIN_INLINE void store16(std::uint8_t* to, f32x16 v) { store_integers<u8x16>(to, v, 0.0f, 255.0f); }
PTRAIN_INLINE void store16(std::int8_t* to, f32x16 v) { store_integers<s8x16>(to, v, -128.0f, 127.0f); }

#ifdef __AVX512F__
inline constexpr __mmask16 all_lanes = 0xffff;  // GCC 12 warns of the intrinsics without a mask

/// Lane i holds (first[i], second[i]).
inline __m512i interleave(__m256i first, __m256i second) {
  const __m512i low = _mm512_maskz_cvtepu16_epi32(all_lanes, first);
  const __m512i high = _mm512_maskz_cvtepu16_epi32(all_lanes, second);
  return _mm512_or_si512(low, _mm512_maskz_slli_epi32(all_lanes, high, 16));
}

/// Transposes sixteen rows of sixteen 32-bit lanes.
inline void transpose(__m512i (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_maskz_unpacklo_epi32(all_lanes, r[i], r[i + 1]);
    t[i + 1] = _mm512_maskz_unpackhi_epi32(all_lanes, r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_maskz_unpacklo_epi64(0xff, t[i], t[i + 2]);
    r[i + 1] = _mm512_maskz_unpackhi_epi64(0xff, t[i], t[i + 2]);
    r[i + 2] = _mm512_maskz_unpacklo_epi64(0xff, t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_maskz_unpackhi_epi64(0xff, t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_maskz_shuffle_i32x4(all_lanes, r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_maskz_shuffle_i32x4(all_lanes, r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_maskz_shuffle_i32x4(all_lanes, r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_maskz_shuffle_i32x4(all_lanes, r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_maskz_shuffle_i32x4(all_lanes, t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_maskz_shuffle_i32x4(all_lanes, t[i], t[i + 8], 0xdd);
  }
}
#endif

/// Transposes sixteen rows of sixteen floats.
PTRAIN_INLINE void transpose(f32x16 (&rows)[lanes]) {
#ifdef __AVX512F__
  transpose(reinterpret_cast<__m512i(&)[lanes]>(rows));
#else
  f32x16 columns[lanes];
  for (int r = 0; r < lanes; ++r) {
    for (int c = 0; c < lanes; ++c) columns[c][r] = rows[r][c];
  }
  std::copy(columns, columns + lanes, rows);
#endif
}

/// Access to all sixteen lanes.
struct AllLanes {
  static constexpr std::size_t count = lanes;

  template <typename T>
  PTRAIN_INLINE f32x16 load(const T* from) const {
    return load16(from);
  }
  template <typename T>
  PTRAIN_INLINE void store(T* to, f32x16 v) const {
    store16(to, v);
  }
  /// Of a mask, one bit a lane.
  PTRAIN_INLINE std::uint16_t load_bits(const std::uint8_t* from) const {
    std::uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    return bits;
  }
  PTRAIN_INLINE void store_bits(std::uint8_t* to, std::uint16_t bits) const { memcpy(to, &bits, sizeof bits); }
};

/// Access to the first `count` lanes, where a row ends; the others read as zero.
struct SomeLanes {
  std::size_t count;

  template <typename T>
  PTRAIN_INLINE f32x16 load(const T* from) const {
    T part[lanes] = {};
    memcpy(static_cast<void*>(part), from, count * sizeof(T));
    return load16(part);
  }
  template <typename T>
  PTRAIN_INLINE void store(T* to, f32x16 v) const {
    T part[lanes];
    store16(part, v);
    memcpy(static_cast<void*>(to), part, count * sizeof(T));
  }
  PTRAIN_INLINE std::uint16_t load_bits(const std::uint8_t* from) const {
    std::uint16_t bits = 0;
    memcpy(&bits, from, count / 8);
    return bits;
  }
  PTRAIN_INLINE void store_bits(std::uint8_t* to, std::uint16_t bits) const { memcpy(to, &bits, count / 8); }
};

/// Calls body(first_channel, access) for each group of sixteen channels; the last may be a part.
template <typename Body>
PTRAIN_INLINE void for_channels(std::int64_t channels, Body&& body) {
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) body(c, AllLanes{});
  if (c < channels) body(c, SomeLanes{static_cast<std::size_t>(channels - c)});
}

}  // namespace ptrain::cpu

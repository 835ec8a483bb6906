// Sixteen floats at a time: loads and stores convert from and to the storage types. Arithmetic on f32x16 uses the
// compiler's vector extension (GCC and Clang), so one source serves AVX2, AVX-512 and Neon.
#pragma once

#include "core/base/dtype.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#pragma GCC diagnostic ignored "-Wpsabi"  // everything here is inlined; no vector crosses a call

namespace ptrain::cpu {

#define PTRAIN_INLINE inline __attribute__((always_inline))

inline constexpr int lanes = 16;
/// Number of 32-bit lanes in a register.
#if defined(__AVX512F__)
inline constexpr int register_lanes = 16;
#elif defined(__AVX__)
inline constexpr int register_lanes = 8;
#else
inline constexpr int register_lanes = 4;
#endif

/// `count` lanes of type T as a compiler vector.
template <typename T, int count = register_lanes>
struct RegisterOf {
  using type [[gnu::vector_size(count * sizeof(T))]] = T;
};
template <typename T, int count = register_lanes>
using Register = typename RegisterOf<T, count>::type;

/// make(lane...) of the numbers of lanes, as constants.
template <int count, typename Make>
PTRAIN_INLINE auto by_lanes(Make make) {
  return [&]<int... lane>(std::integer_sequence<int, lane...>) { return make(std::integral_constant<int, lane>{}...); }
  (std::make_integer_sequence<int, count>{});
}

/// Sixteen floats where registers hold fewer. GCC keeps compiler vectors that are wider than registers in memory, and
/// splits their comparisons into single lanes.
struct Registers {
  static constexpr int count = lanes / register_lanes;
  Register<float> parts[count];

  Registers() = default;
  PTRAIN_INLINE Registers(float value) {
    for (auto& part : parts) part = value - Register<float>{};
  }

  friend PTRAIN_INLINE Registers operator-(Registers a) {
    for (auto& part : a.parts) part = -part;
    return a;
  }
  friend PTRAIN_INLINE Registers operator+(Registers a, Registers b) { return a += b; }
  friend PTRAIN_INLINE Registers operator-(Registers a, Registers b) { return a -= b; }
  friend PTRAIN_INLINE Registers operator*(Registers a, Registers b) { return a *= b; }
  friend PTRAIN_INLINE Registers operator/(Registers a, Registers b) { return a /= b; }
  PTRAIN_INLINE Registers& operator+=(Registers b) {
    for (int p = 0; p < count; ++p) parts[p] += b.parts[p];
    return *this;
  }
  PTRAIN_INLINE Registers& operator-=(Registers b) {
    for (int p = 0; p < count; ++p) parts[p] -= b.parts[p];
    return *this;
  }
  PTRAIN_INLINE Registers& operator*=(Registers b) {
    for (int p = 0; p < count; ++p) parts[p] *= b.parts[p];
    return *this;
  }
  PTRAIN_INLINE Registers& operator/=(Registers b) {
    for (int p = 0; p < count; ++p) parts[p] /= b.parts[p];
    return *this;
  }
};

using f32x16 = std::conditional_t<register_lanes == lanes, Register<float, lanes>, Registers>;
/// Register p of a vector.
PTRAIN_INLINE auto& get_register(Register<float, lanes>& v, int) { return v; }
PTRAIN_INLINE auto& get_register(Registers& v, int p) { return v.parts[p]; }

/// Applies function(register...) to each register: for what operators do not cover, mainly comparisons.
template <typename Function, typename... V>
PTRAIN_INLINE f32x16 by_registers(Function function, V... v) {
  f32x16 result;
  for (int p = 0; p < Registers::count; ++p) get_register(result, p) = function(get_register(v, p)...);
  return result;
}

/// Fills the lanes with load(first lane) for each register, or calls store(first lane, register) for each.
template <typename Load>
PTRAIN_INLINE f32x16 load_registers(Load load) {
  f32x16 v;
  for (int p = 0; p < Registers::count; ++p) get_register(v, p) = load(p * register_lanes);
  return v;
}
template <typename Store>
PTRAIN_INLINE void store_registers(f32x16 v, Store store) {
  for (int p = 0; p < Registers::count; ++p) store(p * register_lanes, get_register(v, p));
}

/// Loads or stores a register of T, aligned or not.
template <typename T>
PTRAIN_INLINE Register<T> load_register(const void* from) {
  Register<T> v;
  memcpy(&v, from, sizeof v);
  return v;
}
template <typename V>
PTRAIN_INLINE void store_register(void* to, V v) {
  memcpy(to, &v, sizeof v);
}

/// `value` in every lane.
PTRAIN_INLINE f32x16 splat(float value) { return value - f32x16{}; }

/// Loads or stores 16 elements, aligned or not; 16-bit types are widened, and rounded to nearest.
PTRAIN_INLINE f32x16 load16(const float* from) {
  return load_registers([=](int at) { return load_register<float>(from + at); });
}
PTRAIN_INLINE void store16(float* to, f32x16 v) {
  store_registers(v, [=](int at, auto part) { store_register(to + at, part); });
}

/// Bit i is 1 where lane i is above zero; and `v` where bits are 1, with zeros elsewhere.
PTRAIN_INLINE std::uint16_t positive_bits(f32x16 v) {
  unsigned bits = 0;
  store_registers(v, [&]([[maybe_unused]] int at, auto part) {
#if defined(__AVX512F__)
    bits = _mm512_cmp_ps_mask(reinterpret_cast<__m512>(part), _mm512_setzero_ps(), _CMP_GT_OQ);
#elif defined(__AVX__)
    const __m256 positive = _mm256_cmp_ps(reinterpret_cast<__m256>(part), _mm256_setzero_ps(), _CMP_GT_OQ);
    bits |= static_cast<unsigned>(_mm256_movemask_ps(positive)) << at;
#else
    for (int i = 0; i < register_lanes; ++i) bits |= static_cast<unsigned>(part[i] > 0) << (at + i);
#endif
  });
  return static_cast<std::uint16_t>(bits);
}
PTRAIN_INLINE f32x16 where_bits(std::uint16_t bits, f32x16 v) {
#ifdef __AVX512F__
  return reinterpret_cast<f32x16>(_mm512_maskz_mov_ps(bits, reinterpret_cast<__m512>(v)));
#else
  Register<std::uint32_t> lane_bit{};
  for (int i = 0; i < register_lanes; ++i) lane_bit[i] = 1u << i;
  f32x16 kept;
  for (int p = 0; p < Registers::count; ++p) {
    const auto ones = lane_bit & (static_cast<std::uint32_t>(bits) >> (p * register_lanes));
    kept.parts[p] = ones != 0 ? v.parts[p] : Register<float>{};
  }
  return kept;
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

/// As for floats.
PTRAIN_INLINE f32x16 load16(const bf16* from) {
  return load_registers([=](int at) {
    const auto bits = __builtin_convertvector(load_register<std::uint16_t>(from + at), Register<std::uint32_t>);
    return reinterpret_cast<Register<float>>(bits << 16);
  });
}
PTRAIN_INLINE void store16(bf16* to, f32x16 v) {
#ifdef __AVX512BF16__
  const auto bits = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(v));
  memcpy(static_cast<void*>(to), &bits, sizeof bits);
#else
  store_registers(v, [=](int at, auto part) {  // bf16's constructor, in lanes
    const auto u = reinterpret_cast<Register<std::uint32_t>>(part);
    const auto high = u >> 16, rounded = (u + 0x7fffu + (high & 1u)) >> 16;
    const auto bits = (u & 0x7fffffffu) > 0x7f800000u ? high | 0x40u : rounded;
    store_register(to + at, __builtin_convertvector(bits, Register<std::uint16_t>));
  });
#endif
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
  return load_registers([=](int at) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    return reinterpret_cast<Register<float>>(_mm256_cvtph_ps(bits));
  });
}
PTRAIN_INLINE void store16(f16* to, f32x16 v) {
  store_registers(v, [=](int at, auto part) {
    const __m128i bits = _mm256_cvtps_ph(reinterpret_cast<__m256>(part), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), bits);
  });
}
#else
PTRAIN_INLINE f32x16 load16(const f16* from) {
  return load_registers(
      [=](int at) { return __builtin_convertvector(load_register<__fp16>(from + at), Register<float>); });
}
PTRAIN_INLINE void store16(f16* to, f32x16 v) {
  store_registers(v,
                  [=](int at, auto part) { store_register(to + at, __builtin_convertvector(part, Register<__fp16>)); });
}
#endif

/// As for floats. Goes through 16 bits: GCC converts between 8 and 32 lane by lane.
template <typename Integer>
requires std::is_same_v<Integer, std::uint8_t> || std::is_same_v<Integer, std::int8_t> PTRAIN_INLINE f32x16
load16(const Integer* from) {
  return load_registers([=](int at) {
    const auto halves = __builtin_convertvector(load_register<Integer>(from + at), Register<std::int16_t>);
    return __builtin_convertvector(__builtin_convertvector(halves, Register<std::int32_t>), Register<float>);
  });
}
/// Rounds ties to even, saturates out-of-range values, and turns NaN into 0.
template <typename Integer>
requires std::is_same_v<Integer, std::uint8_t> || std::is_same_v<Integer, std::int8_t> PTRAIN_INLINE void store16(
    Integer* to, f32x16 v) {
  constexpr float least = std::numeric_limits<Integer>::min(), most = std::numeric_limits<Integer>::max();
  store_registers(v, [=](int at, auto part) {
    using Part = decltype(part);
    part = part < least ? Part{} + least : part;
    part = part > most ? Part{} + most : part;
    const Part shifted = part + 0x1.8p23f;  // whose low bits are the integer
    const auto bits = reinterpret_cast<Register<std::uint32_t>>(shifted);
    const auto halves = __builtin_convertvector(bits, Register<std::uint16_t>);
    store_register(to + at, __builtin_convertvector(halves, Register<Integer>));
  });
}

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
  float from[lanes][lanes], to[lanes][lanes];
  for (int r = 0; r < lanes; ++r) store16(from[r], rows[r]);
  for (int r = 0; r < lanes; ++r) {
    for (int c = 0; c < lanes; ++c) to[c][r] = from[r][c];
  }
  for (int r = 0; r < lanes; ++r) rows[r] = load16(to[r]);
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
  /// Loads or stores a mask with one bit per lane.
  PTRAIN_INLINE std::uint16_t load_bits(const std::uint8_t* from) const {
    std::uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    return bits;
  }
  PTRAIN_INLINE void store_bits(std::uint8_t* to, std::uint16_t bits) const { memcpy(to, &bits, sizeof bits); }
};

/// Access to the first `count` lanes, at a row's end; the others read as zero.
struct SomeLanes {
  std::size_t count;

#ifdef __AVX512F__
  PTRAIN_INLINE __mmask16 mask() const { return static_cast<__mmask16>((1u << count) - 1); }
  PTRAIN_INLINE f32x16 load(const float* from) const { return f32x16(_mm512_maskz_loadu_ps(mask(), from)); }
  PTRAIN_INLINE void store(float* to, f32x16 v) const { _mm512_mask_storeu_ps(to, mask(), __m512(v)); }
#endif
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

/// Calls body(first_channel, access) for each group of sixteen channels; the last may be partial.
template <typename Body>
PTRAIN_INLINE void for_channels(std::int64_t channels, Body&& body) {
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) body(c, AllLanes{});
  if (c < channels) body(c, SomeLanes{static_cast<std::size_t>(channels - c)});
}

}  // namespace ptrain::cpu

// Weights in blocks as kernels multiply them: thirty-two elements of each of some rows, with four adjacent elements of
// each row in a register.
#pragma once

#include "core/base/block_format.h"
#include "core/cpu/simd/vector.h"

#include <cstring>

namespace ptrain::cpu::block_panel {

#if defined(__AVX512VNNI__)
inline constexpr const char* instructions = "vnni";
inline constexpr int panel_rows = 16;  // of weights
#elif defined(__AVX2__)
inline constexpr const char* instructions = "avx2";
inline constexpr int panel_rows = 8;
#else
inline constexpr const char* instructions = "plain";
inline constexpr int panel_rows = 8;
#endif
inline constexpr int words = block_row_elements / 4;

using Words = Register<std::int32_t, panel_rows>;  // each of four bytes
using Bytes = Register<std::int8_t, panel_rows * 4>;
using Floats = Register<float, panel_rows>;

/// `value` in every lane.
PTRAIN_INLINE Floats splat_panel(float value) { return value - Floats{}; }

/// Four adjacent bytes in every lane.
PTRAIN_INLINE Words splat_word(const std::int8_t* from) {
  std::int32_t word;
  memcpy(&word, from, sizeof word);
  return word - Words{};
}

/// The 32-bit words at an offset of each row.
PTRAIN_INLINE Words load_words(const std::byte* const (&rows)[panel_rows], std::int64_t offset) {
  std::int32_t bits[panel_rows];
  for (int i = 0; i < panel_rows; ++i) memcpy(&bits[i], rows[i] + offset, sizeof bits[i]);
  return by_lanes<panel_rows>([&](auto... lane) { return Words{bits[lane]...}; });
}

/// The f16 in each lane's low half.
PTRAIN_INLINE Floats widen_halves(Words both) {
  const auto packed = __builtin_convertvector(both & 0xffff, Register<std::uint16_t, panel_rows>);
#if defined(__AVX512VNNI__)  // GCC 12 warns of the form without a mask
  return reinterpret_cast<Floats>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(packed)));
#elif defined(__F16C__)
  return reinterpret_cast<Floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(packed)));
#else
  Floats values;
  for (int i = 0; i < panel_rows; ++i) {
    f16 value;
    value.bits = packed[i];
    values[i] = static_cast<float>(value);
  }
  return values;
#endif
}

/// The f16 at an offset of each row.
PTRAIN_INLINE Floats load_halves(const std::byte* const (&rows)[panel_rows], std::int64_t offset) {
  std::int32_t bits[panel_rows];
  for (int i = 0; i < panel_rows; ++i) {
    std::uint16_t half;
    memcpy(&half, rows[i] + offset, sizeof half);
    bits[i] = half;
  }
  return widen_halves(by_lanes<panel_rows>([&](auto... lane) { return Words{bits[lane]...}; }));
}

/// Of each group of four lanes the words, in turn of `a` and `b`, from the lanes of `first`, 0 or 2, on.
template <int first>
PTRAIN_INLINE Words interleave_words(Words a, Words b) {
  return by_lanes<panel_rows>([&](auto... lane) {
    return __builtin_shufflevector(a, b, (lane / 4 * 4 + first + lane % 4 / 2 + lane % 2 * panel_rows)...);
  });
}

/// Of each group of four lanes the two from `first`, 0 or 2, on of `a`, then those of `b`.
template <int first>
PTRAIN_INLINE Words join_pairs(Words a, Words b) {
  return by_lanes<panel_rows>([&](auto... lane) {
    return __builtin_shufflevector(a, b, (lane / 4 * 4 + first + lane % 2 + lane % 4 / 2 * panel_rows)...);
  });
}

/// The four words at an offset of `first` and of each fourth row after it.
template <int count>
PTRAIN_INLINE Register<std::int32_t, count> load_fours(const std::byte* const (&rows)[panel_rows], int first,
                                                       std::int64_t offset) {
  if constexpr (count == 4) {
    Register<std::int32_t, count> four;
    memcpy(&four, rows[first] + offset, sizeof four);
    return four;
  } else {
    const auto low = load_fours<count / 2>(rows, first, offset);
    const auto high = load_fours<count / 2>(rows, first + count / 2, offset);
    return by_lanes<count>([&](auto... lane) { return __builtin_shufflevector(low, high, lane()...); });
  }
}

/// to[i] = word i of the four at an offset of each row.
PTRAIN_INLINE void transpose_words(const std::byte* const (&rows)[panel_rows], std::int64_t offset, Words* to) {
  Words lanes_of[4];  // rows i, i + 4 and so on
  for (int i = 0; i < 4; ++i) lanes_of[i] = load_fours<panel_rows>(rows, i, offset);
  const Words low01 = interleave_words<0>(lanes_of[0], lanes_of[1]),
              high01 = interleave_words<2>(lanes_of[0], lanes_of[1]);
  const Words low23 = interleave_words<0>(lanes_of[2], lanes_of[3]),
              high23 = interleave_words<2>(lanes_of[2], lanes_of[3]);
  to[0] = join_pairs<0>(low01, low23);
  to[1] = join_pairs<2>(low01, low23);
  to[2] = join_pairs<0>(high01, high23);
  to[3] = join_pairs<2>(high01, high23);
}

/// Each lane's byte `index`, of 0 to 3.
PTRAIN_INLINE Words get_byte(Words from, int index) { return (from >> 8 * index) & 255; }

/// Thirty-two elements of each of a panel's rows of weights, whose values are scale * integers + least.
template <BlockFormat format>
struct PanelBlock {
  static constexpr bool is_signed = format == BlockFormat::q8_0 || format == BlockFormat::q6_k;
  static constexpr bool has_least = !is_signed;
  /// Parts whose products are added up as integers, each with a scale: more products of q5_k would not fit.
  static constexpr int parts = format == BlockFormat::q5_k || format == BlockFormat::q6_k ? 2 : 1;

  /// Of the rows' elements from `index` * 32 on.
  PTRAIN_INLINE void load(const std::byte* const (&rows)[panel_rows], std::int64_t index) {
    constexpr std::int64_t rows_of_block = block_elements(format) / block_row_elements;
    const std::int64_t offset = index / rows_of_block * block_bytes(format);
    const int row = static_cast<int>(index % rows_of_block);
    if constexpr (format == BlockFormat::q6_k) {
      load_q6_k(rows, offset, row);
    } else if constexpr (!is_rounded(format)) {
      load_k(rows, offset, row);
    } else if constexpr (format == BlockFormat::q8_0) {
      scales[0] = load_halves(rows, offset);
      load_row(rows, offset + 2, integers);
    } else {
      if constexpr (format == BlockFormat::q4_0) {
        scales[0] = load_halves(rows, offset);
        least = -8 * scales[0];
      } else {
        load_two_halves(rows, offset, scales[0], least);
      }
      transpose_words(rows, offset + block_bytes(format) - block_row_elements / 2, integers);
      for (int i = 0; i < words / 2; ++i) {
        integers[i + words / 2] = (integers[i] >> 4) & low_fours;
        integers[i] &= low_fours;
      }
    }
  }

  Words integers[words];
  Floats scales[parts], least;

 private:
  static constexpr std::int32_t low_fours = 0x0f0f0f0f;

  PTRAIN_INLINE static void load_two_halves(const std::byte* const (&rows)[panel_rows], std::int64_t offset,
                                            Floats& first, Floats& second) {
    const Words both = load_words(rows, offset);
    first = widen_halves(both);
    second = widen_halves(both >> 16);
  }

  PTRAIN_INLINE static void load_row(const std::byte* const (&rows)[panel_rows], std::int64_t offset, Words* to) {
    transpose_words(rows, offset, to);
    transpose_words(rows, offset + block_row_elements / 2, to + words / 2);
  }

  /// q4_k and q5_k. Twelve bytes from 4 on have eight scales and eight least values of 6 bits: of the first four rows
  /// the low bits of the first and second word's bytes, of the others four bits of the third word's and two high ones.
  PTRAIN_INLINE void load_k(const std::byte* const (&rows)[panel_rows], std::int64_t offset, int row) {
    const Words first = load_words(rows, offset + 4), second = load_words(rows, offset + 8);
    Words scale = first & 0x3f3f3f3f, lowest = second & 0x3f3f3f3f;
    if (row >= 4) {
      const Words third = load_words(rows, offset + 12);
      scale = (third & low_fours) | ((first >> 2) & 0x30303030);
      lowest = ((third >> 4) & low_fours) | ((second >> 2) & 0x30303030);
    }
    Floats scale_unit, least_unit;
    load_two_halves(rows, offset, scale_unit, least_unit);
    scales[0] = scale_unit * __builtin_convertvector(get_byte(scale, row % 4), Floats);
    scales[parts - 1] = scales[0];
    least = -(least_unit * __builtin_convertvector(get_byte(lowest, row % 4), Floats));
    constexpr std::int64_t fours_at = format == BlockFormat::q5_k ? 48 : 16;
    load_row(rows, offset + fours_at + row / 2 * block_row_elements, integers);
    for (Words& word : integers) word = (word >> row % 2 * 4) & low_fours;
    if constexpr (format == BlockFormat::q5_k) {
      Words fifths[words];
      load_row(rows, offset + 16, fifths);
      for (int i = 0; i < words; ++i) integers[i] |= ((fifths[i] >> row) & 0x01010101) << 4;
    }
  }

  PTRAIN_INLINE void load_q6_k(const std::byte* const (&rows)[panel_rows], std::int64_t offset, int row) {
    const int half = row / 4, quarter = row % 4;
    load_row(rows, offset + half * 64 + quarter % 2 * block_row_elements, integers);
    Words highs[words];
    load_row(rows, offset + 128 + half * block_row_elements, highs);
    for (int i = 0; i < words; ++i) {
      const Words bits =
          ((integers[i] >> quarter / 2 * 4) & low_fours) | (((highs[i] >> quarter * 2) & 0x03030303) << 4);
      integers[i] = reinterpret_cast<Words>(reinterpret_cast<Bytes>(bits) - 32);
    }
    const Floats unit = load_halves(rows, offset + 208);
    const Words both = load_words(rows, offset + 192 + row / 2 * 4);  // of two rows
    for (int part = 0; part < parts; ++part) {
      const Words scale = (both << (24 - 8 * (row % 2 * 2 + part))) >> 24;  // with its sign
      scales[part] = unit * __builtin_convertvector(scale, Floats);
    }
  }
};

/// Exact sums of a block's products of weights and x, whose magnitudes are up to 127.
template <bool is_signed>
class ProductSums {
 public:
#if defined(__AVX512VNNI__)
  /// `x_sum` is the sum of the x that follow: signed weights become unsigned ones by adding 128.
  PTRAIN_INLINE void start(std::int32_t x_sum) {
    if constexpr (is_signed) sums_ = Words{} - 128 * x_sum;
  }
  PTRAIN_INLINE void add(Words w, Words x) {
    constexpr auto high_bits = static_cast<std::int32_t>(0x80808080U);
    const Words weights = is_signed ? w ^ high_bits : w;
    sums_ = reinterpret_cast<Words>(_mm512_dpbusd_epi32(
        reinterpret_cast<__m512i>(sums_), reinterpret_cast<__m512i>(weights), reinterpret_cast<__m512i>(x)));
  }
#else
  PTRAIN_INLINE void start(std::int32_t /*x_sum*/) {}
#if defined(__AVX2__)
  /// Signed weights lend their signs to x.
  PTRAIN_INLINE void add(Words w, Words x) {
    const auto weights = reinterpret_cast<__m256i>(w), values = reinterpret_cast<__m256i>(x);
    if constexpr (is_signed) {
      add_unsigned(_mm256_abs_epi8(weights), _mm256_sign_epi8(values, weights));
    } else {
      add_unsigned(weights, values);
    }
  }
#else
  PTRAIN_INLINE void add(Words w, Words x) {
    const auto weights = reinterpret_cast<Bytes>(w), values = reinterpret_cast<Bytes>(x);
    for (int i = 0; i < panel_rows * 4; ++i) sums_[i / 4] += static_cast<int>(weights[i]) * static_cast<int>(values[i]);
  }
#endif
#endif

  PTRAIN_INLINE Floats get() const {
#if defined(__AVX2__) && !defined(__AVX512VNNI__)
    if constexpr (!is_signed) return __builtin_convertvector(add_pairs(reinterpret_cast<__m256i>(sums_)), Floats);
#endif
    return __builtin_convertvector(sums_, Floats);
  }

 private:
#if defined(__AVX2__) && !defined(__AVX512VNNI__)
  PTRAIN_INLINE static Words add_pairs(__m256i pairs) {
    return reinterpret_cast<Words>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  /// Pairs of products fit into 16 bits; of unsigned weights of 4 or 5 bits, all of a part together still do.
  PTRAIN_INLINE void add_unsigned(__m256i w, __m256i x) {
    const __m256i pairs = _mm256_maddubs_epi16(w, x);
    if constexpr (is_signed) {
      sums_ += add_pairs(pairs);
    } else {
      sums_ = reinterpret_cast<Words>(_mm256_add_epi16(reinterpret_cast<__m256i>(sums_), pairs));
    }
  }
#endif

  Words sums_{};
};

}  // namespace ptrain::cpu::block_panel

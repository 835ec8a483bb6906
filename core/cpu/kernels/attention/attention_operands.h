// The operands of attention's matrix products, packed from tensors of one dtype: floats, or pairs of bf16 where the
// tensors are bf16 and the CPU multiplies those.
#pragma once

#include "core/cpu/kernels/attention/attention_tiles.h"
#include "core/cpu/simd/convert.h"

namespace ptrain::cpu {

/// T is the tensors' type; products are of floats.
template <typename T>
struct FloatOperands {
  using Element = float;
  /// Whether a packed left operand can also be a right operand whose depth is the tokens.
  static constexpr bool rows_are_tokens = true;
  /// Elements needed for `count` values along a product's depth.
  static constexpr std::int64_t elements(std::int64_t count) { return count; }

  /// A left operand whose depth is the head's: to [rows, elements(padded_depth)] = from [rows, depth], zero in the
  /// padding.
  static void pack_rows(const T* from, std::int64_t stride, std::int64_t rows, const AttentionShape& s, float* to) {
    for (std::int64_t r = 0; r < rows; ++r, from += stride, to += s.padded_depth) {
      for_channels(s.depth, [&](std::int64_t d, auto access) { store16(to + d, access.load(from + d)); });
    }
  }

  /// A right operand whose depth is the tokens: to [elements(rows), padded_depth] = from [rows, depth], zero in the
  /// padding.
  static void pack_tokens(const T* from, std::int64_t stride, std::int64_t rows, const AttentionShape& s, float* to) {
    pack_rows(from, stride, rows, s, to);
  }

  /// A right operand whose depth is the head's: to [elements(depth), padded_length] = the transpose of from [rows,
  /// depth], zero in the padding. Sixteen rows at a time, so that writes fill whole lines.
  static void pack_columns(const T* from, std::int64_t stride, std::int64_t rows, const AttentionShape& s, float* to) {
    f32x16 block[lanes];
    for (std::int64_t r0 = 0; r0 < rows; r0 += lanes) {
      const std::int64_t height = std::min<std::int64_t>(lanes, rows - r0);
      for_channels(s.depth, [&](std::int64_t d0, auto access) {
        for (std::int64_t r = 0; r < lanes; ++r) {
          block[r] = r < height ? access.load(from + (r0 + r) * stride + d0) : f32x16{};
        }
        transpose(block);
        const std::int64_t width = std::min<std::int64_t>(lanes, s.depth - d0);
        for (std::int64_t d = 0; d < width; ++d) store16(to + (d0 + d) * s.padded_length + r0, block[d]);
      });
    }
  }

  /// A tile of scores [rows, keys], rows `ld` floats apart, as a left operand whose depth is the keys; may overwrite
  /// the tile.
  static const float* from_tile(float* tile, std::int64_t /*rows*/, std::int64_t /*keys*/, std::int64_t /*ld*/) {
    return tile;
  }
  /// That operand with the rows as its depth: [elements(rows), ld], in `scratch` unless it can stay in place.
  static const float* transposed(const float* tile, std::int64_t /*rows*/, std::int64_t /*keys*/, std::int64_t /*ld*/,
                                 float* /*scratch*/) {
    return tile;
  }
};

#ifdef __AVX512BF16__
/// As FloatOperands, for tensors of bf16: scores are rounded to bf16 too.
struct Bf16Operands {
  using Element = Bf16Pair;
  static constexpr bool rows_are_tokens = false;
  static constexpr std::int64_t elements(std::int64_t count) { return (count + 1) / 2; }

  static void pack_rows(const bf16* from, std::int64_t stride, std::int64_t rows, const AttentionShape& s,
                        Bf16Pair* to) {
    for (std::int64_t r = 0; r < rows; ++r, from += stride, to += s.padded_depth / 2) {
      for_groups(s.depth, [&](std::int64_t d, __mmask16 mask) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + d / 2), _mm256_maskz_loadu_epi16(mask, from + d));
      });
    }
  }

  static void pack_tokens(const bf16* from, std::int64_t stride, std::int64_t rows, const AttentionShape& s,
                          Bf16Pair* to) {
    for (std::int64_t r = 0; r < rows; r += 2, from += 2 * stride, to += s.padded_depth) {
      for_groups(s.depth, [&](std::int64_t d, __mmask16 mask) {
        _mm512_storeu_si512(to + d, interleave(from + d, mask, from + stride + d, r + 1 < rows ? mask : no_lanes));
      });
    }
  }

  static void pack_columns(const bf16* from, std::int64_t stride, std::int64_t rows, const AttentionShape& s,
                           Bf16Pair* to) {
    f32x16 block[lanes];
    for (std::int64_t r0 = 0; r0 < rows; r0 += lanes) {
      const std::int64_t height = std::min<std::int64_t>(lanes, rows - r0);
      for (std::int64_t d0 = 0; d0 < s.depth; d0 += 2 * lanes) {
        const std::int64_t values = std::min<std::int64_t>(2 * lanes, s.depth - d0);
        const auto mask = static_cast<__mmask32>((std::uint64_t{1} << values) - 1);
        for (std::int64_t r = 0; r < lanes; ++r) {
          const __mmask32 row_mask = r < height ? mask : 0;
          block[r] = reinterpret_cast<f32x16>(_mm512_maskz_loadu_epi16(row_mask, from + (r0 + r) * stride + d0));
        }
        transpose(block);
        for (std::int64_t pair = 0; pair < elements(values); ++pair) {
          memcpy(to + (d0 / 2 + pair) * s.padded_length + r0, &block[pair], sizeof block[pair]);
        }
      }
    }
  }

  static const Bf16Pair* from_tile(float* tile, std::int64_t rows, std::int64_t keys, std::int64_t ld) {
    for (std::int64_t r = 0; r < rows; ++r) {
      float* row = tile + r * ld;
      convert_run(row, reinterpret_cast<bf16*>(row), keys);  // sixteen at a time: reads stay ahead of writes
    }
    return reinterpret_cast<const Bf16Pair*>(tile);
  }

  static const Bf16Pair* transposed(const Bf16Pair* tile, std::int64_t rows, std::int64_t keys, std::int64_t ld,
                                    Bf16Pair* scratch) {
    for (std::int64_t r = 0; r < rows; r += 2) {
      const auto* first = reinterpret_cast<const bf16*>(tile + r * ld);
      const auto* second = reinterpret_cast<const bf16*>(tile + (r + 1) * ld);
      for_groups(keys, [&](std::int64_t k, __mmask16 mask) {
        _mm512_storeu_si512(scratch + r / 2 * ld + k,
                            interleave(first + k, mask, second + k, r + 1 < rows ? mask : no_lanes));
      });
    }
    return scratch;
  }

 private:
  static constexpr __mmask16 no_lanes = 0;

  /// Calls body(first, mask) for each group of sixteen of `count` values.
  template <typename Body>
  static void for_groups(std::int64_t count, Body&& body) {
    for (std::int64_t i = 0; i < count; i += lanes) {
      body(i, count - i >= lanes ? all_lanes : static_cast<__mmask16>((1u << (count - i)) - 1));
    }
  }

  /// Lane i holds (first[i], second[i]), zero where the mask is.
  static __m512i interleave(const bf16* first, __mmask16 first_mask, const bf16* second, __mmask16 second_mask) {
    return cpu::interleave(_mm256_maskz_loadu_epi16(first_mask, first), _mm256_maskz_loadu_epi16(second_mask, second));
  }
};

template <typename T>
using Operands = std::conditional_t<std::is_same_v<T, bf16>, Bf16Operands, FloatOperands<T>>;
#else
template <typename T>
using Operands = FloatOperands<T>;
#endif

}  // namespace ptrain::cpu

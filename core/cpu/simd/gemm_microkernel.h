// GEMM micro-kernels on packed panels, sums[k][c] (+)= left[m][k] * right[m][c] summed over pixels m: most of a weight
// gradient's time. Each defines its packing; it takes `step_pixels` pixels at a time, and channels in multiples of 32.
#pragma once

#include "core/cpu/simd/amx.h"
#include "core/cpu/simd/vector.h"

#ifdef __AVX512F__

#include <array>
#include <span>

namespace ptrain::cpu {

/// Sixteen channels of two pixels, interleaved: lane c holds (first[c], second[c]).
inline __m512i interleave(const bf16* first, const bf16* second) {
  return interleave(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(first)),
                    _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second)));
}

/// fp32: a row of a panel is one pixel.
struct F32Lanes {
  using Element = float;
  static constexpr std::int64_t pixels_per_row = 1;
  static constexpr const char* name = "avx512_taps";

  static __m512i row(const float* const* pixels, std::int64_t channel) {
    return _mm512_loadu_si512(pixels[0] + channel);
  }
  static __m512 multiply_add(__m512i a, __m512i b, __m512 sum) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sum);
  }
};

#ifdef __AVX512BF16__
/// bf16: a row of a panel is two pixels, interleaved.
struct Bf16Lanes {
  using Element = bf16;
  static constexpr std::int64_t pixels_per_row = 2;
  static constexpr const char* name = "avx512_bf16_taps";

  static __m512i row(const bf16* const* pixels, std::int64_t channel) {
    return interleave(pixels[0] + channel, pixels[1] + channel);
  }
  static __m512 multiply_add(__m512i a, __m512i b, __m512 sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};
#endif

/// Vector registers hold 8 x 32 sums; panels are rows of 8 (left) and 32 (right) lanes.
template <typename Lanes>
struct VectorProduct {
  using Element = typename Lanes::Element;
  static constexpr std::int64_t step_pixels = 32;
  static constexpr std::int64_t step_rows = step_pixels / Lanes::pixels_per_row;
  static constexpr const char* name = Lanes::name;

  static bool available() { return true; }
  static void begin() {}
  static void end() {}

  static void pack_left(std::span<const Element* const> pixels, std::int64_t channels, Element* panel,
                        std::int64_t step, std::int64_t steps) {
    auto* words = reinterpret_cast<std::int32_t*>(panel);
    for (std::int64_t c = 0; c < channels; c += 16) {
      for (std::int64_t row = 0; row < step_rows; ++row) {
        const __m512i v = Lanes::row(pixels.data() + row * Lanes::pixels_per_row, c);
        std::int32_t* to = words + (c * steps + step * 8) * step_rows + row * 8;
        // Extracts halves from the register: masked stores, and copies via the stack, are slower on AMD.
        const __m256i low = __builtin_shufflevector(v, v, 0, 1, 2, 3), high = __builtin_shufflevector(v, v, 4, 5, 6, 7);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8 * steps * step_rows), high);
      }
    }
  }

  static void pack_right(std::span<const Element* const> pixels, std::int64_t channels, Element* panel,
                         std::int64_t step, std::int64_t steps) {
    auto* words = reinterpret_cast<std::int32_t*>(panel);
    for (std::int64_t c = 0; c < channels; c += 32) {
      for (std::int64_t row = 0; row < step_rows; ++row) {
        const Element* const* pixel = pixels.data() + row * Lanes::pixels_per_row;
        std::int32_t* to = words + (c * steps + step * 32) * step_rows + row * 32;
        _mm512_storeu_si512(to, Lanes::row(pixel, c));
        _mm512_storeu_si512(to + 16, Lanes::row(pixel, c + 16));
      }
    }
  }

  /// sums[k][c], rows `stride` floats apart; with `accumulate` 0 it starts from zero.
  static void multiply(const Element* left, const Element* right, float* sums, std::int64_t stride, std::int64_t steps,
                       std::int64_t k, std::int64_t c, bool accumulate) {
    const std::int64_t rows = steps * step_rows;
    for (std::int64_t j = 0; j < c; j += 32) {
      for (std::int64_t i = 0; i < k; i += 8) {
        multiply_tile(reinterpret_cast<const std::int32_t*>(left) + i * rows,
                      reinterpret_cast<const std::int32_t*>(right) + j * rows, sums + i * stride + j, stride, rows,
                      accumulate);
      }
    }
  }

 private:
  static void multiply_tile(const std::int32_t* left, const std::int32_t* right, float* sums, std::int64_t stride,
                            std::int64_t rows, bool accumulate) {
    __m512 s[8][2];
    for (std::int64_t i = 0; i < 8; ++i) {
      s[i][0] = accumulate ? _mm512_loadu_ps(sums + i * stride) : _mm512_setzero_ps();
      s[i][1] = accumulate ? _mm512_loadu_ps(sums + i * stride + 16) : _mm512_setzero_ps();
    }
    for (std::int64_t row = 0; row < rows; ++row, left += 8, right += 32) {
      const __m512i b0 = _mm512_loadu_si512(right), b1 = _mm512_loadu_si512(right + 16);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        const __m512i a = _mm512_set1_epi32(left[i]);
        s[i][0] = Lanes::multiply_add(a, b0, s[i][0]);
        s[i][1] = Lanes::multiply_add(a, b1, s[i][1]);
      }
    }
    for (std::int64_t i = 0; i < 8; ++i) {
      _mm512_storeu_ps(sums + i * stride, s[i][0]);
      _mm512_storeu_ps(sums + i * stride + 16, s[i][1]);
    }
  }
};

#ifdef __AMX_BF16__
/// AMX tiles: 16 channels x 32 pixels of the left panel (transposed) by 32 pixels x 16 channels of the right one.
struct AmxProduct {
  using Element = bf16;
  static constexpr std::int64_t step_pixels = 32;
  static constexpr const char* name = "amx_taps";

  static bool available() { return request_amx(); }
  static void begin() {
    static constexpr TileShapes shapes{.bytes_per_row{64, 64, 64, 64, 64, 64, 64, 64},
                                       .rows{16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&shapes);
  }
  static void end() { _tile_release(); }

  static void pack_left(std::span<const bf16* const> pixels, std::int64_t channels, bf16* panel, std::int64_t step,
                        std::int64_t steps) {
    for (std::int64_t group = 0; group < channels / 16; ++group) {
      __m512i rows[16];
      for (std::size_t pair = 0; pair < 16; ++pair) {
        rows[pair] = interleave(pixels[2 * pair] + group * 16, pixels[2 * pair + 1] + group * 16);
      }
      transpose(rows);
      bf16* tile = panel + (group * steps + step) * tile_elements;
      for (std::int64_t row = 0; row < 16; ++row) _mm512_store_si512(tile + row * 32, rows[row]);
    }
  }

  static void pack_right(std::span<const bf16* const> pixels, std::int64_t channels, bf16* panel, std::int64_t step,
                         std::int64_t steps) {
    for (std::int64_t group = 0; group < channels / 16; ++group) {
      bf16* tile = panel + (group * steps + step) * tile_elements;
      for (std::size_t pair = 0; pair < 16; ++pair) {
        _mm512_store_si512(tile + static_cast<std::int64_t>(pair) * 32,
                           interleave(pixels[2 * pair] + group * 16, pixels[2 * pair + 1] + group * 16));
      }
    }
  }

  /// As VectorProduct's, in squares of two by two tiles.
  static void multiply(const bf16* left, const bf16* right, float* sums, std::int64_t stride, std::int64_t steps,
                       std::int64_t k, std::int64_t c, bool accumulate) {
    const std::int64_t group = steps * tile_elements;
    const auto row_bytes = static_cast<std::size_t>(stride) * sizeof(float);
    for (std::int64_t j = 0; j < c / 32; ++j) {
      for (std::int64_t i = 0; i < k / 32; ++i) {
        float* out = sums + i * 32 * stride + j * 32;
        if (accumulate) {
          _tile_loadd(0, out, row_bytes);
          _tile_loadd(1, out + 16, row_bytes);
          _tile_loadd(2, out + 16 * stride, row_bytes);
          _tile_loadd(3, out + 16 * stride + 16, row_bytes);
        } else {
          _tile_zero(0);
          _tile_zero(1);
          _tile_zero(2);
          _tile_zero(3);
        }
        const bf16 *a = left + 2 * i * group, *b = right + 2 * j * group;
        for (std::int64_t step = 0; step < steps; ++step, a += tile_elements, b += tile_elements) {
          _tile_loadd(4, a, 64);
          _tile_loadd(6, b, 64);
          _tile_loadd(7, b + group, 64);
          _tile_loadd(5, a + group, 64);
          _tile_dpbf16ps(0, 4, 6);
          _tile_dpbf16ps(1, 4, 7);
          _tile_dpbf16ps(2, 5, 6);
          _tile_dpbf16ps(3, 5, 7);
        }
        _tile_stored(0, out, row_bytes);
        _tile_stored(1, out + 16, row_bytes);
        _tile_stored(2, out + 16 * stride, row_bytes);
        _tile_stored(3, out + 16 * stride + 16, row_bytes);
      }
    }
  }

 private:
  static constexpr std::int64_t tile_elements = 16 * 32;
};
#endif  // __AMX_BF16__

}  // namespace ptrain::cpu

#endif  // __AVX512F__

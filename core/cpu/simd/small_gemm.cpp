#include "core/cpu/simd/small_gemm.h"

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include <algorithm>

namespace ptrain::cpu {
namespace {

#ifdef __AVX512F__
constexpr int lanes = 16;
constexpr int wide = 4;  // vectors across; 6 x 4 accumulators leave room for a row of B in 32 registers
#else
constexpr int lanes = 8;
constexpr int wide = 2;
#endif
static_assert(gemm_lanes % lanes == 0);

using Vector = float __attribute__((vector_size(lanes * sizeof(float)), aligned(4)));

inline Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
inline Vector multiply_add(float down, Vector across, Vector sum) { return sum + down * across; }
#ifdef __AVX512BF16__
inline __m512bh load(const Bf16Pair* from) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from)); }
inline Vector multiply_add(Bf16Pair down, __m512bh across, Vector sum) {
  const __m512i all = _mm512_set1_epi32(static_cast<int>(down.bits));
  return reinterpret_cast<Vector>(
      _mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), across, reinterpret_cast<__m512bh>(all)));
}
#endif

/// Rows of accumulators for a tile of `vectors` columns.
template <typename Element>
constexpr int rows_for(int vectors) {
  return std::is_same_v<Element, float> ? std::min(12, 6 * wide / vectors) : std::min(8, 4 * wide / vectors);
}

template <int rows, int vectors, typename Element>
void tile(const SmallGemm<Element>& p, std::int64_t row, std::int64_t column) {
  Vector sums[rows][vectors];
  float* c = p.c + row * p.ldc + column;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = p.accumulate ? load(c + r * p.ldc + v * lanes) : Vector{};
    }
  }
  const Element* a = p.a + row * p.a_row;
  const Element* b = p.b + column;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_column, b += p.ldb) {
    decltype(load(b)) across[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) across[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Element down = a[r * p.a_row];
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) sums[r][v] = multiply_add(down, across[v], sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<Vector*>(c + r * p.ldc + v * lanes) = sums[r][v];
  }
}

/// Dispatches `rows` <= most to a compile-time constant.
template <int vectors, int most, typename Element>
void partial_tile(const SmallGemm<Element>& p, std::int64_t row, std::int64_t column, std::int64_t rows) {
  if constexpr (most > 0) {
    if (rows == most) {
      tile<most, vectors>(p, row, column);
    } else {
      partial_tile<vectors, most - 1>(p, row, column, rows);
    }
  }
}

template <int vectors, typename Element>
void compute_columns(const SmallGemm<Element>& p, std::int64_t column) {
  constexpr int most = rows_for<Element>(vectors);
  for (std::int64_t row = 0; row < p.rows; row += most) {
    partial_tile<vectors, most>(p, row, column, std::min<std::int64_t>(most, p.rows - row));
  }
}

template <typename Element>
void multiply(const SmallGemm<Element>& p) {
  std::int64_t column = 0;
  for (; column + wide * lanes <= p.columns; column += wide * lanes) compute_columns<wide>(p, column);
  if constexpr (wide == 4) {
    if (column + 2 * lanes <= p.columns) {
      compute_columns<2>(p, column);
      column += 2 * lanes;
    }
  }
  for (; column < p.columns; column += lanes) compute_columns<1>(p, column);
}

}  // namespace

void small_gemm(const SmallGemm<float>& problem) { multiply(problem); }
#ifdef __AVX512BF16__
void small_gemm(const SmallGemm<Bf16Pair>& problem) { multiply(problem); }
#endif

}  // namespace ptrain::cpu

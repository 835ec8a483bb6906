#include "core/cpu/small_gemm.h"

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

/// Rows of accumulators for a tile that is `vectors` across.
constexpr int rows_for(int vectors) { return std::min(12, 6 * wide / vectors); }

template <int rows, int vectors>
void tile(const SmallGemm& p, std::int64_t row, std::int64_t column) {
  Vector sums[rows][vectors];
  float* c = p.c + row * p.ldc + column;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = p.accumulate ? *reinterpret_cast<const Vector*>(c + r * p.ldc + v * lanes) : Vector{};
    }
  }
  const float* a = p.a + row * p.a_row;
  const float* b = p.b + column;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_column, b += p.ldb) {
    Vector across[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) across[v] = *reinterpret_cast<const Vector*>(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const float down = a[r * p.a_row];
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) sums[r][v] += down * across[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<Vector*>(c + r * p.ldc + v * lanes) = sums[r][v];
  }
}

/// The tile of `rows` <= most rows, as a compile-time constant.
template <int vectors, int most>
void partial_tile(const SmallGemm& p, std::int64_t row, std::int64_t column, std::int64_t rows) {
  if constexpr (most > 0) {
    if (rows == most) {
      tile<most, vectors>(p, row, column);
    } else {
      partial_tile<vectors, most - 1>(p, row, column, rows);
    }
  }
}

template <int vectors>
void columns_of(const SmallGemm& p, std::int64_t column) {
  constexpr int most = rows_for(vectors);
  for (std::int64_t row = 0; row < p.rows; row += most) {
    partial_tile<vectors, most>(p, row, column, std::min<std::int64_t>(most, p.rows - row));
  }
}

}  // namespace

void small_gemm(const SmallGemm& p) {
  std::int64_t column = 0;
  for (; column + wide * lanes <= p.columns; column += wide * lanes) columns_of<wide>(p, column);
  if constexpr (wide == 4) {
    if (column + 2 * lanes <= p.columns) {
      columns_of<2>(p, column);
      column += 2 * lanes;
    }
  }
  for (; column < p.columns; column += lanes) columns_of<1>(p, column);
}

}  // namespace ptrain::cpu

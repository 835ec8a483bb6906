// Matrix products of a few hundred rows whose operands sit in the caches: attention's tiles.
#pragma once

#include <cstdint>

namespace ptrain::cpu {

/// C [rows, columns] = A B, or += with `accumulate`. B is [depth, columns] with `ldb` floats between rows; A's element
/// (r, k) is a[r * a_row + k * a_column], so a transposed A costs nothing. `columns` is a multiple of gemm_lanes.
struct SmallGemm {
  std::int64_t rows, columns, depth;
  const float* a;
  std::int64_t a_row, a_column;
  const float* b;
  std::int64_t ldb;
  float* c;
  std::int64_t ldc;
  bool accumulate = false;
};

/// Columns are padded to this many.
inline constexpr std::int64_t gemm_lanes = 16;
inline std::int64_t round_to_lanes(std::int64_t n) { return (n + gemm_lanes - 1) / gemm_lanes * gemm_lanes; }

void small_gemm(const SmallGemm& problem);

}  // namespace ptrain::cpu

// Matrix products of a few hundred rows whose operands sit in the caches: attention's tiles.
#pragma once

#include "core/base/round_up.h"

#include <cstdint>

namespace ptrain::cpu {

/// Two consecutive bf16 values along a product's depth; one instruction multiplies and adds both.
struct Bf16Pair {
  std::uint32_t bits;  // the first value in the low half
};

/// C [rows, columns] = A B, or += with `accumulate`, summed in f32. B is [depth, columns] with `ldb` elements between
/// rows; A's element (r, k) is a[r * a_row + k * a_column], so a transposed A costs nothing. `columns` is a multiple of
/// gemm_lanes. An element is a float or a Bf16Pair, `depth` counts elements.
template <typename Element>
struct SmallGemm {
  std::int64_t rows, columns, depth;
  const Element* a;
  std::int64_t a_row, a_column;
  const Element* b;
  std::int64_t ldb;
  float* c;
  std::int64_t ldc;
  bool accumulate = false;
};

/// Columns are padded to this many.
inline constexpr std::int64_t gemm_lanes = 16;
inline std::int64_t round_to_lanes(std::int64_t n) { return round_up(n, gemm_lanes); }

/// Computes `problem` on the calling thread.
void small_gemm(const SmallGemm<float>& problem);
#ifdef __AVX512BF16__
void small_gemm(const SmallGemm<Bf16Pair>& problem);
#endif

}  // namespace ptrain::cpu

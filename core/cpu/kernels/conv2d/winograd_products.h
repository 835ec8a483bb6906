// What Winograd's algorithms multiply, and in which order it lies in memory.
#pragma once

#include "core/cpu/simd/small_gemm.h"
#include "core/cpu/simd/vector.h"

namespace ptrain::cpu {

/// Floats, whose transforms are exact up to rounding in fp32.
struct FloatProducts {
  using Value = float;
  using Element = float;  // of the products: `depth` consecutive values
  static constexpr std::int64_t depth = 1;
  static constexpr const char* suffix = "";

  PTRAIN_INLINE static void store(float* to, const f32x16 (&values)[1]) { store16(to, values[0]); }
};

#ifdef __AVX512BF16__
/// Pairs of bf16. Transformed tiles and filters are rounded to bf16, so that results of random values differ by 0.35 %
/// (2x2 tiles) of their standard deviation from exact ones, where those rounded to bf16 differ by 0.17 %.
struct Bf16Products {
  using Value = bf16;
  using Element = Bf16Pair;
  static constexpr std::int64_t depth = 2;
  static constexpr const char* suffix = "_bf16";

  PTRAIN_INLINE static void store(Bf16Pair* to, const f32x16 (&values)[2]) {
    const auto round = [](f32x16 v) {
      return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
    };
    _mm512_storeu_si512(to, interleave(round(values[0]), round(values[1])));
  }
};
#endif

/// Calls `add` with the products that a candidate of 2x2 tiles may have besides floats.
template <typename Add>
void visit_low_products([[maybe_unused]] DType data, [[maybe_unused]] Add&& add) {
#ifdef __AVX512BF16__
  if (data == DType::bf16) add(Bf16Products{});
#endif
}

}  // namespace ptrain::cpu

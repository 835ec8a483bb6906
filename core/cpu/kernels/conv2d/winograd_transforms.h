// Winograd's minimal algorithms F(m x m, 3 x 3) (Lavin and Gray 2016, section 4): the transforms of one tile, sixteen
// channels at a time. With points 0, +-p, +-q and infinity the products are exact up to rounding; Winograd<4> uses 5/8
// and 3/2, whose powers are closer to each other than those of 1 and 2, which loses less precision in the sums.
#pragma once

#include "core/cpu/simd/vector.h"

namespace ptrain::cpu {

/// One axis of F(m x m, 3 x 3): y = A^T [(G g) * (B^T d)], from `size` inputs d and 3 filter taps g to m outputs y.
template <int m>
struct Winograd;

template <>
struct Winograd<2> {
  static constexpr int size = 4;
  static constexpr const char* name = "winograd_2x2";

  /// B^T d
  PTRAIN_INLINE static void input(const f32x16 (&d)[4], f32x16 (&v)[4]) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[1] - d[3];
  }
  /// G g
  PTRAIN_INLINE static void filter(const f32x16 (&g)[3], f32x16 (&u)[4]) {
    const f32x16 ends = 0.5f * (g[0] + g[2]), middle = 0.5f * g[1];
    u[0] = g[0];
    u[1] = ends + middle;
    u[2] = ends - middle;
    u[3] = g[2];
  }
  /// A^T s
  PTRAIN_INLINE static void output(const f32x16 (&s)[4], f32x16 (&y)[2]) {
    y[0] = s[0] + s[1] + s[2];
    y[1] = s[1] - s[2] - s[3];
  }
  /// A dy
  PTRAIN_INLINE static void output_gradient(const f32x16 (&dy)[2], f32x16 (&z)[4]) {
    z[0] = dy[0];
    z[1] = dy[0] + dy[1];
    z[2] = dy[0] - dy[1];
    z[3] = -dy[1];
  }
  /// G^T du
  PTRAIN_INLINE static void filter_gradient(const f32x16 (&du)[4], f32x16 (&dg)[3]) {
    const f32x16 sum = 0.5f * (du[1] + du[2]);
    dg[0] = du[0] + sum;
    dg[1] = 0.5f * (du[1] - du[2]);
    dg[2] = sum + du[3];
  }
};

template <>
struct Winograd<4> {
  static constexpr int size = 6;
  static constexpr const char* name = "winograd_4x4";
  static constexpr float p = 0.625f, q = 1.5f, pp = p * p, qq = q * q;
  // One over the product of a point's differences from the others.
  static constexpr float at_0 = 1 / (pp * qq), at_p = 1 / (2 * pp * (pp - qq)), at_q = 1 / (2 * qq * (qq - pp));

  PTRAIN_INLINE static void input(const f32x16 (&d)[6], f32x16 (&v)[6]) {
    const f32x16 even_p = d[4] - qq * d[2], odd_p = p * (d[3] - qq * d[1]);
    const f32x16 even_q = d[4] - pp * d[2], odd_q = q * (d[3] - pp * d[1]);
    v[0] = pp * qq * d[0] - (pp + qq) * d[2] + d[4];
    v[1] = even_p + odd_p;
    v[2] = even_p - odd_p;
    v[3] = even_q + odd_q;
    v[4] = even_q - odd_q;
    v[5] = pp * qq * d[1] - (pp + qq) * d[3] + d[5];
  }
  PTRAIN_INLINE static void filter(const f32x16 (&g)[3], f32x16 (&u)[6]) {
    const f32x16 even_p = at_p * g[0] + at_p * pp * g[2], odd_p = at_p * p * g[1];
    const f32x16 even_q = at_q * g[0] + at_q * qq * g[2], odd_q = at_q * q * g[1];
    u[0] = at_0 * g[0];
    u[1] = even_p + odd_p;
    u[2] = even_p - odd_p;
    u[3] = even_q + odd_q;
    u[4] = even_q - odd_q;
    u[5] = g[2];
  }
  PTRAIN_INLINE static void output(const f32x16 (&s)[6], f32x16 (&y)[4]) {
    const f32x16 sum_p = s[1] + s[2], difference_p = s[1] - s[2];
    const f32x16 sum_q = s[3] + s[4], difference_q = s[3] - s[4];
    y[0] = s[0] + sum_p + sum_q;
    y[1] = p * difference_p + q * difference_q;
    y[2] = pp * sum_p + qq * sum_q;
    y[3] = p * pp * difference_p + q * qq * difference_q + s[5];
  }
  PTRAIN_INLINE static void output_gradient(const f32x16 (&dy)[4], f32x16 (&z)[6]) {
    const f32x16 even_p = dy[0] + pp * dy[2], odd_p = p * dy[1] + p * pp * dy[3];
    const f32x16 even_q = dy[0] + qq * dy[2], odd_q = q * dy[1] + q * qq * dy[3];
    z[0] = dy[0];
    z[1] = even_p + odd_p;
    z[2] = even_p - odd_p;
    z[3] = even_q + odd_q;
    z[4] = even_q - odd_q;
    z[5] = dy[3];
  }
  PTRAIN_INLINE static void filter_gradient(const f32x16 (&du)[6], f32x16 (&dg)[3]) {
    const f32x16 sum_p = at_p * (du[1] + du[2]), sum_q = at_q * (du[3] + du[4]);
    dg[0] = at_0 * du[0] + sum_p + sum_q;
    dg[1] = at_p * p * (du[1] - du[2]) + at_q * q * (du[3] - du[4]);
    dg[2] = pp * sum_p + qq * sum_q + du[5];
  }
};

/// A transform of one axis, applied to both: [from][from] to [to][to].
template <int from, int to, typename OneAxis>
PTRAIN_INLINE void transform_both_axes(const f32x16 (&in)[from][from], f32x16 (&out)[to][to], OneAxis&& one_axis) {
  f32x16 half[to][from];
  for (int j = 0; j < from; ++j) {
    f32x16 column[from], transformed[to];
    for (int i = 0; i < from; ++i) column[i] = in[i][j];
    one_axis(column, transformed);
    for (int i = 0; i < to; ++i) half[i][j] = transformed[i];
  }
  for (int i = 0; i < to; ++i) one_axis(half[i], out[i]);
}

/// Writes each position of a transformed tile into its own plane; planes are `plane` values apart.
template <int size, typename Value>
PTRAIN_INLINE void store_places(const f32x16 (&tile)[size][size], Value* to, std::int64_t plane) {
  for (int place = 0; place < size * size; ++place) store16(to + place * plane, tile[place / size][place % size]);
}
/// The same of as many tiles as make an element of products (winograd_products.h); planes are `plane` elements apart.
template <int size, typename Products>
PTRAIN_INLINE void store_places(const f32x16 (&tiles)[Products::depth][size][size], typename Products::Element* to,
                                std::int64_t plane) {
  for (int place = 0; place < size * size; ++place) {
    f32x16 values[Products::depth];
    for (int i = 0; i < Products::depth; ++i) values[i] = tiles[i][place / size][place % size];
    Products::store(to + place * plane, values);
  }
}
template <int size>
PTRAIN_INLINE void load_places(const float* from, std::int64_t plane, f32x16 (&tile)[size][size]) {
  for (int place = 0; place < size * size; ++place) tile[place / size][place % size] = load16(from + place * plane);
}

}  // namespace ptrain::cpu

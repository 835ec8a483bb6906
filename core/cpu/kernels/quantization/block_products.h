// Products of weights in panels of blocks and rows of x that are rounded block by block.
#pragma once

#include "core/cpu/kernels/quantization/block_panel.h"
#include "core/cpu/simd/amx.h"

#include <algorithm>
#include <array>

namespace ptrain::cpu::block_panel {

/// Rows of x as integers. For each block, and in it for each row, there are a scale, the sum of the values, and those
/// of the integers of its two halves.
struct RoundedRows {
  RoundedRows(void* workspace, std::int64_t row_count, std::int64_t row_elements)
      : rows(row_count),
        columns(row_elements),
        blocks(row_elements / block_row_elements),
        integers(static_cast<std::int8_t*>(workspace)),
        scales(reinterpret_cast<float*>(integers + rows * columns)),
        totals(scales + rows * blocks),
        halves(reinterpret_cast<Halves*>(totals + rows * blocks)) {}

  static std::size_t bytes(std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t of_block = 2 * sizeof(float) + sizeof(Halves);
    return static_cast<std::size_t>(rows * (columns + columns / block_row_elements * of_block));
  }

  void round_row(const float* x, std::int64_t row) const {
    for (std::int64_t b = 0; b < blocks; ++b) round_block(x + b * block_row_elements, row, b);
  }

  using Halves = std::array<std::int32_t, 2>;

  std::int64_t rows, columns, blocks;
  std::int8_t* integers;
  float *scales, *totals;
  Halves* halves;

 private:
  /// A value that is not finite makes the scale so, and all that is computed with it.
  void round_block(const float* x, std::int64_t row, std::int64_t block) const {
    const f32x16 first = load16(x), second = load16(x + lanes);
    const auto magnitude = [](auto v) { return v < 0 ? -v : v; };
    const f32x16 most = by_registers(
        [&](auto a, auto b) { return magnitude(a) > magnitude(b) ? magnitude(a) : magnitude(b); }, first, second);
    float magnitudes[lanes];
    store16(magnitudes, most);
    for (int half = lanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) magnitudes[i] = std::max(magnitudes[i], magnitudes[half + i]);
    }
    const float largest = magnitudes[0];
    const float inverse = largest > least_magnitude ? 127 / largest : 0;
    std::int8_t* to = integers + row * columns + block * block_row_elements;
    store16(to, first * splat(inverse));
    store16(to + lanes, second * splat(inverse));
    const float poison = total((first - first) + (second - second));
    const std::int64_t at = block * rows + row;
    scales[at] = largest / 127 + poison;
    halves[at] = {static_cast<std::int32_t>(total(load16(to))), static_cast<std::int32_t>(total(load16(to + lanes)))};
    totals[at] = scales[at] * static_cast<float>(halves[at][0] + halves[at][1]);
  }

  static constexpr float least_magnitude = 1e-30f;  // smaller values are 0, before the inverse overflows
};

/// A block of some rows of x, and those after it.
struct BlockRows {
  BlockRows(const RoundedRows& x, std::int64_t row, std::int64_t block)
      : rows(x.rows),
        columns(x.columns),
        integers(x.integers + row * x.columns + block * block_row_elements),
        scales(x.scales + block * x.rows + row),
        totals(x.totals + block * x.rows + row),
        halves(x.halves + block * x.rows + row) {}

  void advance() {
    integers += block_row_elements;
    scales += rows;
    totals += rows;
    halves += rows;
  }

  std::int64_t rows, columns;
  const std::int8_t* integers;
  const float *scales, *totals;
  const RoundedRows::Halves* halves;
};

/// sum + products * scale * x_scale
PTRAIN_INLINE Floats add_products(Floats sum, Floats products, Floats scale, float x_scale) {
  return sum + products * (scale * splat_panel(x_scale));
}

/// Adds to sums[j] what `count` blocks give for row j of x.
template <BlockFormat format, int rows>
PTRAIN_INLINE void add_blocks(const PanelBlock<format>* panel, std::int64_t count, BlockRows x, Floats (&sums)[rows]) {
  using Block = PanelBlock<format>;
  constexpr int words_of_part = words / Block::parts;
  for (std::int64_t b = 0; b < count; ++b, x.advance()) {
    const Block& block = panel[b];
#pragma GCC unroll 2
    for (int part = 0; part < Block::parts; ++part) {
      ProductSums<Block::is_signed> products[rows];
#pragma GCC unroll 4
      for (int j = 0; j < rows; ++j) {
        const RoundedRows::Halves& halves = x.halves[j];
        products[j].start(Block::parts == 1 ? halves[0] + halves[1] : halves[static_cast<std::size_t>(part)]);
      }
#pragma GCC unroll 8
      for (int i = part * words_of_part; i < (part + 1) * words_of_part; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < rows; ++j) {
          products[j].add(block.integers[i], splat_word(x.integers + j * x.columns + i * 4));
        }
      }
#pragma GCC unroll 4
      for (int j = 0; j < rows; ++j) {
        sums[j] = add_products(sums[j], products[j].get(), block.scales[part], x.scales[j]);
      }
    }
    if constexpr (Block::has_least) {
#pragma GCC unroll 4
      for (int j = 0; j < rows; ++j) sums[j] += block.least * splat_panel(x.totals[j]);
    }
  }
}

inline constexpr int amx_rows = 16;  // of x

#ifdef __AMX_INT8__
inline constexpr bool knows_amx = true;
#else
inline constexpr bool knows_amx = false;
#endif

/// Whether AmxTiles are compiled, and this process may use them.
inline bool has_amx() {
#ifdef __AMX_INT8__
  return request_amx();
#else
  return false;
#endif
}

#ifdef __AMX_INT8__

/// Products by tiles, from its creation on to its end.
template <BlockFormat format>
class AmxTiles {
  using Block = PanelBlock<format>;

 public:
  AmxTiles() { _tile_loadconfig(&shapes); }
  ~AmxTiles() { _tile_release(); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  /// As add_blocks(), with the same bits.
  PTRAIN_INLINE static void add(const Block* panel, std::int64_t count, BlockRows x, Floats (&sums)[amx_rows]) {
    by_lanes<amx_rows>([&](auto... row) {
      Floats of_rows[amx_rows]{sums[row]...};  // in registers
      for (std::int64_t first = 0; first < count; first += blocks_at_once) {
        const std::int64_t blocks = std::min(blocks_at_once, count - first);
        Products products;
        multiply(panel + first, blocks, x, products);
        for (std::int64_t b = 0; b < blocks; ++b, x.advance()) {
          const Block& block = panel[first + b];
          for (int part = 0; part < Block::parts; ++part) {
            const Words(&exact)[amx_rows] = products[b][part];
            ((of_rows[row] = add_products(of_rows[row], __builtin_convertvector(exact[row], Floats), block.scales[part],
                                          x.scales[row])),
             ...);
          }
          if constexpr (Block::has_least) ((of_rows[row] += block.least * splat_panel(x.totals[row])), ...);
        }
      }
      ((sums[row] = of_rows[row]), ...);
    });
  }

 private:
  static constexpr int bytes_of_part = block_row_elements / Block::parts;
  static constexpr TileShapes shapes{.bytes_per_row{panel_rows * 4, bytes_of_part, panel_rows * 4},
                                     .rows{amx_rows, amx_rows, bytes_of_part / 4}};

  /// A register that is loaded from what a tile has just stored waits for long.
  static constexpr std::int64_t blocks_at_once = 8;
  using Products = Words[blocks_at_once][Block::parts][amx_rows];

  PTRAIN_INLINE static void multiply(const Block* panel, std::int64_t count, const BlockRows& x, Products& products) {
    for (std::int64_t b = 0; b < count; ++b) {
      for (int part = 0; part < Block::parts; ++part) {
        _tile_zero(0);
        _tile_loadd(1, x.integers + b * block_row_elements + part * bytes_of_part, static_cast<std::size_t>(x.columns));
        _tile_loadd(2, panel[b].integers + part * bytes_of_part / 4, sizeof(Words));
        if constexpr (Block::is_signed) {
          _tile_dpbssd(0, 1, 2);
        } else {
          _tile_dpbsud(0, 1, 2);
        }
        _tile_stored(0, products[b][part], sizeof(Words));
      }
    }
  }
};

#else

template <BlockFormat format>
class AmxTiles;

#endif

}  // namespace ptrain::cpu::block_panel

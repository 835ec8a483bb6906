// Eight rows of weights at a time, with four adjacent elements of each in a register, so that a lane adds up one
// element of y. One product serves one row of x and many: a block's integers are exact, and blocks are added in their
// order, so that a text's values do not depend on the texts beside it.
#include "core/ops/quantization/block_linear.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

#include <fmt/format.h>

#include <cstring>

namespace ptrain::cpu {
namespace {

constexpr int panel_rows = 8;  // of weights
constexpr int words = block_row_elements / 4;

using Words = Register<std::int32_t, panel_rows>;  // each of four bytes
using Bytes = Register<std::int8_t, panel_rows * 4>;
using Floats = Register<float, panel_rows>;

#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
constexpr const char* instructions = "vnni";
#elif defined(__AVX2__)
constexpr const char* instructions = "avx2";
#else
constexpr const char* instructions = "plain";
#endif

PTRAIN_INLINE Floats splat_panel(float value) { return value - Floats{}; }

/// Four adjacent bytes in every lane.
PTRAIN_INLINE Words splat_word(const std::int8_t* from) {
  std::int32_t word;
  memcpy(&word, from, sizeof word);
  return word - Words{};
}

/// The f16 at an offset of each row.
PTRAIN_INLINE Floats load_halves(const std::byte* const (&rows)[panel_rows], std::int64_t offset) {
  std::uint16_t bits[panel_rows];
  for (int i = 0; i < panel_rows; ++i) memcpy(&bits[i], rows[i] + offset, sizeof bits[i]);
#ifdef __F16C__
  const Register<std::uint16_t, panel_rows> packed{bits[0], bits[1], bits[2], bits[3],
                                                   bits[4], bits[5], bits[6], bits[7]};
  return reinterpret_cast<Floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(packed)));
#else
  Floats values;
  for (int i = 0; i < panel_rows; ++i) {
    f16 value;
    value.bits = bits[i];
    values[i] = static_cast<float>(value);
  }
  return values;
#endif
}

/// to[i] = word i of the four at an offset of each row.
PTRAIN_INLINE void transpose_words(const std::byte* const (&rows)[panel_rows], std::int64_t offset, Words* to) {
  constexpr int fours = 4;
  Words two[fours];  // rows i and i + 4
  for (int i = 0; i < fours; ++i) {
    Register<std::int32_t, fours> first, second;
    memcpy(&first, rows[i] + offset, sizeof first);
    memcpy(&second, rows[i + fours] + offset, sizeof second);
    two[i] = __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  const Words low01 = __builtin_shufflevector(two[0], two[1], 0, 8, 1, 9, 4, 12, 5, 13);
  const Words low23 = __builtin_shufflevector(two[2], two[3], 0, 8, 1, 9, 4, 12, 5, 13);
  const Words high01 = __builtin_shufflevector(two[0], two[1], 2, 10, 3, 11, 6, 14, 7, 15);
  const Words high23 = __builtin_shufflevector(two[2], two[3], 2, 10, 3, 11, 6, 14, 7, 15);
  to[0] = __builtin_shufflevector(low01, low23, 0, 1, 8, 9, 4, 5, 12, 13);
  to[1] = __builtin_shufflevector(low01, low23, 2, 3, 10, 11, 6, 7, 14, 15);
  to[2] = __builtin_shufflevector(high01, high23, 0, 1, 8, 9, 4, 5, 12, 13);
  to[3] = __builtin_shufflevector(high01, high23, 2, 3, 10, 11, 6, 7, 14, 15);
}

/// The 32-bit words at an offset of each row.
PTRAIN_INLINE Words load_words(const std::byte* const (&rows)[panel_rows], std::int64_t offset) {
  std::int32_t bits[panel_rows];
  for (int i = 0; i < panel_rows; ++i) memcpy(&bits[i], rows[i] + offset, sizeof bits[i]);
  return Words{bits[0], bits[1], bits[2], bits[3], bits[4], bits[5], bits[6], bits[7]};
}

/// Each lane's byte `index`, of 0 to 3.
PTRAIN_INLINE Words get_byte(Words from, int index) { return (from >> 8 * index) & 255; }

/// Thirty-two elements of each of eight rows of weights, whose values are scale * integers + least.
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
      scales[0] = load_halves(rows, offset);
      least = format == BlockFormat::q4_0 ? -8 * scales[0] : load_halves(rows, offset + 2);
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
    scales[0] = load_halves(rows, offset) * __builtin_convertvector(get_byte(scale, row % 4), Floats);
    scales[parts - 1] = scales[0];
    least = -(load_halves(rows, offset + 2) * __builtin_convertvector(get_byte(lowest, row % 4), Floats));
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

/// Exact sums of a block's products of weights and x, whose magnitudes are up to 127: signed weights lend theirs to x.
template <bool is_signed>
class ProductSums {
 public:
#if defined(__AVX2__)
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

  PTRAIN_INLINE Floats get() const {
#if defined(__AVX2__) && !(defined(__AVX512VNNI__) && defined(__AVX512VL__))
    if constexpr (!is_signed) return __builtin_convertvector(add_pairs(reinterpret_cast<__m256i>(sums_)), Floats);
#endif
    return __builtin_convertvector(sums_, Floats);
  }

 private:
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
  PTRAIN_INLINE void add_unsigned(__m256i w, __m256i x) {
    sums_ = reinterpret_cast<Words>(_mm256_dpbusd_epi32(reinterpret_cast<__m256i>(sums_), w, x));
  }
#elif defined(__AVX2__)
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

/// Rows of x as integers with a scale for each block, and the sum of each block's values.
struct RoundedRows {
  RoundedRows(void* workspace, std::int64_t rows, std::int64_t row_elements)
      : columns(row_elements),
        blocks(row_elements / block_row_elements),
        integers(static_cast<std::int8_t*>(workspace)),
        scales(reinterpret_cast<float*>(integers + rows * columns)),
        totals(scales + rows * blocks) {}

  static std::size_t bytes(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * (columns + columns / block_row_elements * 2 * std::int64_t{sizeof(float)}));
  }

  void round_row(const float* x, std::int64_t row) const {
    for (std::int64_t b = 0; b < blocks; ++b) round_block(x + b * block_row_elements, row * blocks + b);
  }

  std::int64_t columns, blocks;
  std::int8_t* integers;
  float *scales, *totals;

 private:
  /// A value that is not finite makes the scale so, and all that is computed with it.
  void round_block(const float* x, std::int64_t block) const {
    const f32x16 first = load16(x), second = load16(x + lanes);
    const auto magnitude = [](auto v) { return v < 0 ? -v : v; };
    const f32x16 most = by_registers(
        [&](auto a, auto b) { return magnitude(a) > magnitude(b) ? magnitude(a) : magnitude(b); }, first, second);
    float magnitudes[lanes];
    store16(magnitudes, most);
    const float largest = *std::max_element(magnitudes, magnitudes + lanes);
    const float inverse = largest > least_magnitude ? 127 / largest : 0;
    std::int8_t* to = integers + block * block_row_elements;
    store16(to, first * splat(inverse));
    store16(to + lanes, second * splat(inverse));
    const float poison = total((first - first) + (second - second));
    scales[block] = largest / 127 + poison;
    int sum = 0;
    for (int i = 0; i < block_row_elements; ++i) sum += to[i];
    totals[block] = scales[block] * static_cast<float>(sum);
  }

  static constexpr float least_magnitude = 1e-30f;  // smaller values are 0, before the inverse overflows
};

/// Adds to sums[j] what the blocks from `first` on give for row `row + j` of x.
template <BlockFormat format, int rows>
PTRAIN_INLINE void add_blocks(const PanelBlock<format>* panel, std::int64_t count, const RoundedRows& x,
                              std::int64_t row, std::int64_t first, Floats (&sums)[rows]) {
  using Block = PanelBlock<format>;
  constexpr int words_of_part = words / Block::parts;
  const std::int8_t* integers = x.integers + row * x.columns + first * block_row_elements;
  const float *scales = x.scales + row * x.blocks + first, *totals = x.totals + row * x.blocks + first;
  for (std::int64_t b = 0; b < count; ++b, integers += block_row_elements, ++scales, ++totals) {
    const Block& block = panel[b];
#pragma GCC unroll 2
    for (int part = 0; part < Block::parts; ++part) {
      ProductSums<Block::is_signed> products[rows];
#pragma GCC unroll 8
      for (int i = part * words_of_part; i < (part + 1) * words_of_part; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < rows; ++j) products[j].add(block.integers[i], splat_word(integers + j * x.columns + i * 4));
      }
#pragma GCC unroll 4
      for (int j = 0; j < rows; ++j) {
        sums[j] += products[j].get() * (block.scales[part] * splat_panel(scales[j * x.blocks]));
      }
    }
    if constexpr (Block::has_least) {
#pragma GCC unroll 4
      for (int j = 0; j < rows; ++j) sums[j] += block.least * splat_panel(totals[j * x.blocks]);
    }
  }
}

class BlockLinearKernel final : public Kernel {
  using Op = BlockLinear;

 public:
  explicit BlockLinearKernel(const KernelContext& context)
      : format_(context.op_as<Op>().attrs().format),
        in_(context.inputs[Op::x].shape[-1]),
        out_(context.inputs[Op::w].shape[0]),
        rows_(context.inputs[Op::x].count() / in_) {}

  std::size_t workspace_bytes() const override { return RoundedRows::bytes(rows_, in_); }
  KernelRecord record() const override { return {fmt::format("{}:{}", enum_name(format_), instructions)}; }

  void run(const KernelArgs& args) override {
    const auto* x = static_cast<const float*>(args.inputs[Op::x]);
    const RoundedRows rounded(args.workspace, rows_, in_);
    parallel_for(rows_, std::max<std::int64_t>(1, elements_at_once / in_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) rounded.round_row(x + row * in_, row);
    });
    switch (format_) {
      case BlockFormat::q8_0:
        return multiply<BlockFormat::q8_0>(rounded, args);
      case BlockFormat::q4_0:
        return multiply<BlockFormat::q4_0>(rounded, args);
      case BlockFormat::q4_1:
        return multiply<BlockFormat::q4_1>(rounded, args);
      case BlockFormat::q4_k:
        return multiply<BlockFormat::q4_k>(rounded, args);
      case BlockFormat::q5_k:
        return multiply<BlockFormat::q5_k>(rounded, args);
      case BlockFormat::q6_k:
        return multiply<BlockFormat::q6_k>(rounded, args);
    }
  }

 private:
  static constexpr std::int64_t elements_at_once = 1 << 14;  // per thread
  static constexpr int tile_rows = 4;                        // of x
  static constexpr int kept_blocks = 32;                     // of panels, in the first-level cache
  static constexpr std::int64_t panels_at_once = 4;  // for each row of x that is read, where there are many rows
  static constexpr std::int64_t many_rows = 8;       // fewer read weights in the order of the memory

  template <BlockFormat format>
  void multiply(const RoundedRows& x, const KernelArgs& args) const {
    const Layer layer{static_cast<const std::byte*>(args.inputs[Op::w]),
                      args.inputs.size() > Op::bias ? static_cast<const float*>(args.inputs[Op::bias]) : nullptr,
                      static_cast<float*>(args.outputs[0])};
    parallel_for((out_ + panel_rows - 1) / panel_rows, std::max<std::int64_t>(1, elements_at_once / in_ / panel_rows),
                 [&](std::int64_t begin, std::int64_t end) {
                   const std::int64_t most = rows_ < many_rows ? 1 : panels_at_once;
                   for (std::int64_t panel = begin; panel < end; panel += most) {
                     multiply_panels<format>(layer, x, panel, std::min(most, end - panel));
                   }
                 });
  }

  struct Layer {
    const std::byte* w;
    const float* bias;  // or nullptr
    float* y;
  };

  template <BlockFormat format>
  void multiply_panels(const Layer& layer, const RoundedRows& x, std::int64_t first, std::int64_t count) const {
    PanelBlock<format> panels[kept_blocks];
    const std::int64_t most = kept_blocks / count;
    for (std::int64_t block = 0; block < x.blocks; block += most) {
      const std::int64_t blocks = std::min<std::int64_t>(most, x.blocks - block);
      for (std::int64_t p = 0; p < count; ++p) load_panel(layer.w, first + p, block, blocks, panels + p * blocks);
      const auto tile = [&]<int rows>(std::int64_t row) {
        for (std::int64_t p = 0; p < count; ++p) {
          multiply_tile<format, rows>(layer, x, row, (first + p) * panel_rows, panels + p * blocks, block, blocks);
        }
      };
      std::int64_t row = 0;
      for (; row + tile_rows <= rows_; row += tile_rows) tile.template operator()<tile_rows>(row);
      if (rows_ - row == 3) tile.template operator()<3>(row);
      if (rows_ - row == 2) tile.template operator()<2>(row);
      if (rows_ - row == 1) tile.template operator()<1>(row);
    }
  }

  /// Rows beyond the last repeat it.
  template <BlockFormat format>
  void load_panel(const std::byte* w, std::int64_t panel, std::int64_t first, std::int64_t blocks,
                  PanelBlock<format>* to) const {
    const std::byte* rows[panel_rows];
    for (int i = 0; i < panel_rows; ++i) {
      rows[i] = w + std::min(panel * panel_rows + i, out_ - 1) * bytes_in_blocks(format, in_);
    }
    const std::int64_t ahead = panel_rows * bytes_in_blocks(format, in_);  // the next panel
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t at = (first + b) * block_row_elements / block_elements(format) * block_bytes(format);
      for (const std::byte* row : rows) __builtin_prefetch(row + ahead + at);
      to[b].load(rows, first + b);
    }
  }

  /// Of y, eight columns (fewer at its end) of `rows` rows: begins with the bias, or goes on from y.
  template <BlockFormat format, int rows>
  void multiply_tile(const Layer& layer, const RoundedRows& x, std::int64_t row, std::int64_t column,
                     const PanelBlock<format>* panel, std::int64_t first, std::int64_t blocks) const {
    const auto bytes = static_cast<std::size_t>(std::min<std::int64_t>(panel_rows, out_ - column)) * sizeof(float);
    Floats sums[rows] = {};
    for (int j = 0; j < rows; ++j) {
      const float* from = first > 0 ? layer.y + (row + j) * out_ : layer.bias;
      if (from != nullptr) copy_columns(&sums[j], from + column, bytes);
    }
    add_blocks<format, rows>(panel, blocks, x, row, first, sums);
    for (int j = 0; j < rows; ++j) copy_columns(layer.y + (row + j) * out_ + column, &sums[j], bytes);
  }

  /// A copy, by one instruction where it is of all columns of a panel.
  PTRAIN_INLINE static void copy_columns(void* to, const void* from, std::size_t bytes) {
    if (bytes == sizeof(Floats)) {
      memcpy(to, from, sizeof(Floats));
    } else {
      memcpy(to, from, bytes);
    }
  }

  BlockFormat format_;
  std::int64_t in_, out_, rows_;
};

class BlockEmbeddingKernel final : public Kernel {
  using Op = BlockEmbedding;

 public:
  explicit BlockEmbeddingKernel(const KernelContext& context)
      : format_(context.op_as<Op>().attrs().format),
        tokens_(context.inputs[Op::ids].count()),
        width_(static_cast<std::size_t>(context.outputs[0].shape[-1])),
        row_bytes_(static_cast<std::size_t>(context.inputs[Op::table].shape[1])) {}

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[Op::ids]);
    const auto* table = static_cast<const std::byte*>(args.inputs[Op::table]);
    auto* y = static_cast<float*>(args.outputs[0]);
    parallel_for(tokens_, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        dequantize_blocks(format_, {table + static_cast<std::size_t>(ids[t]) * row_bytes_, row_bytes_},
                          {y + static_cast<std::size_t>(t) * width_, width_});
      }
    });
  }

 private:
  BlockFormat format_;
  std::int64_t tokens_;
  std::size_t width_, row_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_block_linear(const KernelContext& context) {
  return std::make_unique<BlockLinearKernel>(context);
}
std::unique_ptr<Kernel> make_block_embedding(const KernelContext& context) {
  return std::make_unique<BlockEmbeddingKernel>(context);
}

}  // namespace ptrain::cpu

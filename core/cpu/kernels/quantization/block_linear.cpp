// One product serves one row and many: its integers are exact and each element is added up in one order, so that a
// text's values do not depend on the texts beside it.
#include "core/ops/quantization/block_linear.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

#include <fmt/format.h>

#include <cstring>

namespace ptrain::cpu {
namespace {

constexpr int width = block_elements;
constexpr int sum_lanes = 8;  // of a block's products, four in each

using Unsigned = Register<std::uint8_t, width>;
using Signed = Register<std::int8_t, width>;
using Integers = Register<std::int32_t, sum_lanes>;
using Floats = Register<float, sum_lanes>;

#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
constexpr const char* instructions = "vnni";
#elif defined(__AVX2__)
constexpr const char* instructions = "avx2";
#else
constexpr const char* instructions = "plain";
#endif

PTRAIN_INLINE Floats splat_sums(float value) { return value - Floats{}; }
/// The same, but the compiler does not know that lanes are equal: it would multiply one and spread the product, which
/// takes longer than to multiply all.
PTRAIN_INLINE Floats splat_weights(float value) {
  Floats lanes_of_one = splat_sums(value);
#ifdef __AVX__
  asm("" : "+x"(lanes_of_one));
#endif
  return lanes_of_one;
}

/// Sums of four products each, exact for a within 128: pairs of products fit into 16 bits.
PTRAIN_INLINE Integers multiply_fours(Unsigned a, Signed b) {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
  return reinterpret_cast<Integers>(
      _mm256_dpbusd_epi32(_mm256_setzero_si256(), reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__AVX2__)
  const __m256i pairs = _mm256_maddubs_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b));
  return reinterpret_cast<Integers>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#else
  Integers sums{};
  for (int i = 0; i < width; ++i) sums[i / 4] += static_cast<int>(a[i]) * static_cast<int>(b[i]);
  return sums;
#endif
}

/// `x` with the signs of `w`, where that is not 0; and the magnitudes of `w`.
PTRAIN_INLINE Signed take_signs(Signed x, Signed w) {
#ifdef __AVX2__
  return reinterpret_cast<Signed>(_mm256_sign_epi8(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(w)));
#else
  return w < 0 ? -x : x;
#endif
}
PTRAIN_INLINE Unsigned take_magnitudes(Signed w) {
#ifdef __AVX2__
  return reinterpret_cast<Unsigned>(_mm256_abs_epi8(reinterpret_cast<__m256i>(w)));
#else
  return reinterpret_cast<Unsigned>(w < 0 ? -w : w);
#endif
}

PTRAIN_INLINE float load_half(const std::byte* from) {
  std::uint16_t bits;
  memcpy(&bits, from, sizeof bits);
#ifdef __F16C__
  return _cvtsh_ss(bits);
#else
  f16 value;
  value.bits = bits;
  return static_cast<float>(value);
#endif
}

/// Sixteen bytes' low halves, then their high ones.
PTRAIN_INLINE Unsigned load_fours(const std::byte* from) {
#ifdef __AVX2__
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(bytes), _mm_srli_epi16(bytes, 4), 1);
  return reinterpret_cast<Unsigned>(_mm256_and_si256(both, _mm256_set1_epi8(15)));
#else
  Unsigned fours;
  for (int i = 0; i < width; ++i) {
    const unsigned two = std::to_integer<unsigned>(from[i % (width / 2)]);
    fours[i] = static_cast<std::uint8_t>(i < width / 2 ? two & 15 : two >> 4);
  }
  return fours;
#endif
}

/// The values of a block of weights: scale * integers + least.
template <BlockFormat format>
struct WeightBlock {
  static constexpr bool has_least = format != BlockFormat::q8_0;

  PTRAIN_INLINE explicit WeightBlock(const std::byte* block) {
    const float factor = load_half(block);
    scale = splat_weights(factor);
    if constexpr (format == BlockFormat::q8_0) {
      memcpy(&integers, block + 2, sizeof integers);
      magnitudes = take_magnitudes(integers);
    } else {
      least = splat_weights(format == BlockFormat::q4_0 ? -8 * factor : load_half(block + 2));
      magnitudes = load_fours(block + block_bytes(format) - width / 2);
    }
  }

  PTRAIN_INLINE Integers multiply(Signed x) const {
    if constexpr (format == BlockFormat::q8_0) return multiply_fours(magnitudes, take_signs(x, integers));
    return multiply_fours(magnitudes, x);
  }

  Signed integers;      // of q8_0
  Unsigned magnitudes;  // the integers themselves, where they have no sign
  Floats scale, least;
};

/// Rows of x as integers with a scale for each block, and an eighth of the sum of each block's values.
struct RoundedRows {
  RoundedRows(void* workspace, std::int64_t rows, std::int64_t row_elements)
      : columns(row_elements),
        blocks(row_elements / block_elements),
        integers(static_cast<std::int8_t*>(workspace)),
        scales(reinterpret_cast<float*>(integers + rows * columns)),
        eighths(scales + rows * blocks) {}

  static std::size_t bytes(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * (columns + columns / block_elements * 2 * std::int64_t{sizeof(float)}));
  }

  void round_row(const float* x, std::int64_t row) const {
    for (std::int64_t b = 0; b < blocks; ++b) round_block(x + b * block_elements, row * blocks + b);
  }

  std::int64_t columns, blocks;
  std::int8_t* integers;
  float *scales, *eighths;

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
    std::int8_t* to = integers + block * block_elements;
    store16(to, first * splat(inverse));
    store16(to + lanes, second * splat(inverse));
    const float poison = total((first - first) + (second - second));
    scales[block] = largest / 127 + poison;
    int sum = 0;
    for (int i = 0; i < width; ++i) sum += to[i];
    eighths[block] = scales[block] * static_cast<float>(sum) / sum_lanes;
  }

  static constexpr float least_magnitude = 1e-30f;  // smaller values are 0, before the inverse overflows
};

/// Of y [..., stride], `w_rows` columns of `x_rows` rows, with the sums in registers.
template <BlockFormat format, int w_rows, int x_rows>
void multiply_tile(const std::byte* w, const RoundedRows& x, std::int64_t x_row, float* y, std::int64_t stride) {
  Floats sums[w_rows][x_rows] = {};
  const std::int8_t* integers = x.integers + x_row * x.columns;
  const float *scales = x.scales + x_row * x.blocks, *eighths = x.eighths + x_row * x.blocks;
  for (std::int64_t b = 0; b < x.blocks; ++b) {
#pragma GCC unroll 4
    for (int i = 0; i < w_rows; ++i) {
      const WeightBlock<format> block(w + (i * x.blocks + b) * block_bytes(format));
#pragma GCC unroll 4
      for (int j = 0; j < x_rows; ++j) {
        Signed values;
        memcpy(&values, integers + j * x.columns + b * block_elements, sizeof values);
        const Floats products = __builtin_convertvector(block.multiply(values), Floats);
        sums[i][j] += products * (block.scale * splat_sums(scales[j * x.blocks + b]));
        if constexpr (block.has_least) sums[i][j] += block.least * splat_sums(eighths[j * x.blocks + b]);
      }
    }
  }
  for (int i = 0; i < w_rows; ++i) {
    for (int j = 0; j < x_rows; ++j) {
      const Floats& s = sums[i][j];
      y[j * stride + i] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
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
    }
  }

 private:
  static constexpr std::int64_t elements_at_once = 1 << 14;  // per thread
  static constexpr std::int64_t rounded_bytes = 256 << 10;   // of x that stay in the second-level cache
  static constexpr std::int64_t most_rows = 4,
                                w_rows = 4;  // of a tile, with less of one where there is more of the other

  template <BlockFormat format>
  void multiply(const RoundedRows& x, const KernelArgs& args) const {
    const auto* w = static_cast<const std::byte*>(args.inputs[Op::w]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const std::int64_t part = std::max(most_rows, rounded_bytes / in_ / most_rows * most_rows);
    parallel_for((out_ + w_rows - 1) / w_rows, std::max<std::int64_t>(1, elements_at_once / in_ / w_rows),
                 [&](std::int64_t first, std::int64_t last) {
                   const std::int64_t end = std::min(out_, last * w_rows);
                   for (std::int64_t row = 0; row < rows_; row += part) {
                     multiply_rows<format>(w, x, row, std::min(part, rows_ - row), first * w_rows, end, y);
                   }
                   if (args.inputs.size() > Op::bias && args.inputs[Op::bias] != nullptr) {
                     add_bias(static_cast<const float*>(args.inputs[Op::bias]), first * w_rows, end, y);
                   }
                 });
  }

  template <BlockFormat format>
  void multiply_rows(const std::byte* w, const RoundedRows& x, std::int64_t row, std::int64_t rows, std::int64_t begin,
                     std::int64_t end, float* y) const {
    const auto tile = [&]<int columns, int height>(std::int64_t column, std::int64_t from) {
      multiply_tile<format, columns, height>(w + column * bytes_in_blocks(format, in_), x, from,
                                             y + from * out_ + column, out_);
    };
    const auto column_tiles = [&]<int height>(std::int64_t column, std::int64_t to, std::int64_t from) {
      constexpr int columns = height == 1 ? 4 : 2;
      for (; column + columns <= to; column += columns) tile.template operator()<columns, height>(column, from);
      for (; column < to; ++column) tile.template operator()<1, height>(column, from);
    };
    // The weights of few columns stay in the first-level cache for all rows.
    for (std::int64_t column = begin; column < end; column += w_rows) {
      const std::int64_t to = std::min(end, column + w_rows);
      std::int64_t from = row;
      for (; from + most_rows <= row + rows; from += most_rows) {
        column_tiles.template operator()<most_rows>(column, to, from);
      }
      const std::int64_t left = row + rows - from;
      if (left == 3) column_tiles.template operator()<3>(column, to, from);
      if (left == 2) column_tiles.template operator()<2>(column, to, from);
      if (left == 1) column_tiles.template operator()<1>(column, to, from);
    }
  }

  void add_bias(const float* bias, std::int64_t begin, std::int64_t end, float* y) const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t column = begin; column < end; ++column) y[row * out_ + column] += bias[column];
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

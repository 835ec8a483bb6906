// Weights in 8 and 4 bits, as ggml stores them (ggml-common.h): a row of a matrix is a row of blocks, each of which has
// the small integers of 32 adjacent elements and an f16 scale for them.
#pragma once

#include "core/base/enums.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// Of 32 elements. q8_0: scale, then integers of 8 bits; an element is scale * q. q4_0 and q4_1 have sixteen bytes for
/// the integers from 0 to 15, the first sixteen elements in the low halves. q4_0: scale * (q - 8). q4_1: scale, then
/// the least value in f16; scale * q + least. Of 256 elements in rows of 32. q4_k and q5_k: scale * q - least, q of 4
/// or 5 bits; a row's scale and least value are of 6 bits, in units that a block has in f16 (BlockRowScale). q6_k:
/// scale * (q - 32), q of 6 bits; sixteen elements have a scale, of 8 bits.
enum class BlockFormat : std::uint8_t { q8_0, q4_0, q4_1, q4_k, q5_k, q6_k };
template <>
struct EnumNames<BlockFormat> {
  static constexpr std::array<std::string_view, 6> names{"q8_0", "q4_0", "q4_1", "q4_k", "q5_k", "q6_k"};
};

inline constexpr std::array<BlockFormat, 6> block_formats{BlockFormat::q8_0, BlockFormat::q4_0, BlockFormat::q4_1,
                                                          BlockFormat::q4_k, BlockFormat::q5_k, BlockFormat::q6_k};
/// Those that values can be rounded to here; files have the others.
inline constexpr std::array<BlockFormat, 3> rounded_block_formats{BlockFormat::q8_0, BlockFormat::q4_0,
                                                                  BlockFormat::q4_1};
constexpr bool is_rounded(BlockFormat format) { return format <= BlockFormat::q4_1; }

/// Elements of a row of a block, which are multiplied together.
inline constexpr std::int64_t block_row_elements = 32;

/// Elements of a block.
constexpr std::int64_t block_elements(BlockFormat format) { return is_rounded(format) ? 32 : 256; }
/// Bytes of a block.
constexpr std::int64_t block_bytes(BlockFormat format) {
  constexpr std::array<std::int64_t, 6> bytes{34, 18, 20, 144, 176, 210};
  return bytes[static_cast<std::size_t>(format)];
}
/// Bytes of `elements`, which are whole blocks.
constexpr std::int64_t bytes_in_blocks(BlockFormat format, std::int64_t elements) {
  return elements / block_elements(format) * block_bytes(format);
}

/// blocks = the finite values as ggml's reference rounds them (ggml-quants.c), to one of rounded_block_formats.
void quantize_blocks(BlockFormat format, std::span<const float> values, std::span<std::byte> blocks);
/// values = the elements of whole blocks, in f32: the same bits as ggml's and its Python package's.
void dequantize_blocks(BlockFormat format, std::span<const std::byte> blocks, std::span<float> values);

}  // namespace ptrain

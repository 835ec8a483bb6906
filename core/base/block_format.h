// Weights in 8 and 4 bits, as ggml stores them (ggml-common.h): a row of a matrix is a row of blocks, each of which has
// the small integers of 32 adjacent elements and an f16 scale for them.
#pragma once

#include "core/base/enums.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// q8_0: scale, then 32 integers of 8 bits; an element is scale * q. q4_0 and q4_1 have sixteen bytes for the integers
/// from 0 to 15, the first sixteen elements in the low halves. q4_0: scale * (q - 8). q4_1: scale, then the least value
/// in f16; scale * q + least.
enum class BlockFormat : std::uint8_t { q8_0, q4_0, q4_1 };
template <>
struct EnumNames<BlockFormat> {
  static constexpr std::array<std::string_view, 3> names{"q8_0", "q4_0", "q4_1"};
};

inline constexpr std::array<BlockFormat, 3> block_formats{BlockFormat::q8_0, BlockFormat::q4_0, BlockFormat::q4_1};
inline constexpr std::int64_t block_elements = 32;

/// Bytes of a block.
constexpr std::int64_t block_bytes(BlockFormat format) {
  constexpr std::array<std::int64_t, 3> bytes{34, 18, 20};
  return bytes[static_cast<std::size_t>(format)];
}
/// Bytes of `elements`, a multiple of block_elements.
constexpr std::int64_t bytes_in_blocks(BlockFormat format, std::int64_t elements) {
  return elements / block_elements * block_bytes(format);
}

/// blocks = the finite values as ggml's reference rounds them (ggml-quants.c).
void quantize_blocks(BlockFormat format, std::span<const float> values, std::span<std::byte> blocks);
/// values = the elements of whole blocks, in f32: the same bits as ggml's and its Python package's.
void dequantize_blocks(BlockFormat format, std::span<const std::byte> blocks, std::span<float> values);

}  // namespace ptrain

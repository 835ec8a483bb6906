#include "core/io/gguf_blocks.h"

#include "core/base/dtype.h"
#include "core/base/errors.h"

#include <array>
#include <cstring>

namespace ptrain {
namespace {

using Block = const std::byte*;

unsigned get(Block block, int i) { return std::to_integer<unsigned>(block[i]); }
float get_signed(Block block, int i) { return static_cast<float>(static_cast<std::int8_t>(get(block, i))); }
float get_half(Block block) {
  f16 value;
  std::memcpy(&value, block, sizeof value);
  return static_cast<float>(value);
}

template <BlockFormat format>
void dequantize(Block block, float* values) {
  dequantize_blocks(format, {block, static_cast<std::size_t>(block_bytes(format))}, {values, block_elements});
}

/// A type that is one of core/base's formats.
template <BlockFormat format>
constexpr GgufBlockType simple_type(std::string_view name) {
  return {name, block_elements, static_cast<std::size_t>(block_bytes(format)), dequantize<format>, format};
}

/// Scale and least value of one of eight rows of 32 elements, six bits each: a block's are products of two, and so are
/// exact in f32.
struct RowScale {
  float scale, least;
};
RowScale get_row_scale(Block block, int row) {
  const Block packed = block + 4;  // twelve bytes
  const unsigned high = row < 4 ? 0 : get(packed, row + 4);
  const unsigned scale = row < 4 ? get(packed, row) & 63 : (high & 15) | (get(packed, row - 4) >> 6 << 4);
  const unsigned least = row < 4 ? get(packed, row + 4) & 63 : high >> 4 | (get(packed, row) >> 6 << 4);
  return {get_half(block) * static_cast<float>(scale), get_half(block + 2) * static_cast<float>(least)};
}

// Of 256 elements.
void dequantize_q4_k(Block block, float* values) {
  for (int row = 0; row < 8; ++row) {
    const RowScale s = get_row_scale(block, row);
    for (int i = 0; i < 32; ++i) {
      const unsigned q = get(block + 16, row / 2 * 32 + i) >> (row % 2 * 4) & 15;
      values[row * 32 + i] = s.scale * static_cast<float>(q) - s.least;
    }
  }
}

void dequantize_q5_k(Block block, float* values) {
  for (int row = 0; row < 8; ++row) {
    const RowScale s = get_row_scale(block, row);
    for (int i = 0; i < 32; ++i) {
      const unsigned low = get(block + 48, row / 2 * 32 + i) >> (row % 2 * 4) & 15;
      const unsigned high = get(block + 16, i) >> row & 1;
      values[row * 32 + i] = s.scale * static_cast<float>(low | high << 4) - s.least;
    }
  }
}

void dequantize_q6_k(Block block, float* values) {
  const float scale = get_half(block + 208);
  for (int row = 0; row < 8; ++row) {
    const int half = row / 4, quarter = row % 4;
    for (int i = 0; i < 32; ++i) {
      const unsigned low = get(block, half * 64 + quarter % 2 * 32 + i) >> (quarter / 2 * 4) & 15;
      const unsigned high = get(block + 128, half * 32 + i) >> (quarter * 2) & 3;
      const float row_scale = scale * get_signed(block + 192, row * 2 + i / 16);
      values[row * 32 + i] = row_scale * (static_cast<float>(low | high << 4) - 32);
    }
  }
}

constexpr std::array<GgufBlockType, 6> types{{simple_type<BlockFormat::q4_0>("Q4_0"),
                                              simple_type<BlockFormat::q4_1>("Q4_1"),
                                              simple_type<BlockFormat::q8_0>("Q8_0"),
                                              {"Q4_K", 256, 144, dequantize_q4_k, {}},
                                              {"Q5_K", 256, 176, dequantize_q5_k, {}},
                                              {"Q6_K", 256, 210, dequantize_q6_k, {}}}};

}  // namespace

const GgufBlockType* find_gguf_block_type(std::string_view name) {
  for (const GgufBlockType& type : types) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

void dequantize_blocks(const GgufBlockType& type, std::span<const std::byte> blocks, std::span<float> values) {
  const std::size_t count = blocks.size() / type.bytes;
  invariant(count * type.bytes == blocks.size() && count * static_cast<std::size_t>(type.elements) == values.size(),
            "blocks of another number of elements");
  for (std::size_t i = 0; i < count; ++i) {
    type.dequantize(blocks.data() + i * type.bytes, values.data() + i * static_cast<std::size_t>(type.elements));
  }
}

}  // namespace ptrain

#include "core/base/block_format.h"

#include "core/base/dtype.h"
#include "core/base/errors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

constexpr std::size_t rounded_elements = 32;
using Values = std::span<const float, rounded_elements>;

unsigned get(const std::byte* block, int i) { return std::to_integer<unsigned>(block[i]); }

float get_half(const std::byte* block) {
  f16 value;
  std::memcpy(&value, block, sizeof value);
  return static_cast<float>(value);
}
void put_half(std::byte* block, float value) {
  const f16 half(value);
  std::memcpy(block, &half, sizeof half);
}

/// 0 where the scale is 0 in f16, long before its inverse overflows.
float invert(float scale) { return std::abs(scale) > 1e-30f ? 1 / scale : 0; }

void quantize_q8_0(Values values, std::byte* block) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const float scale = largest / 127, inverse = invert(scale);
  put_half(block, scale);
  for (std::size_t i = 0; i < values.size(); ++i) {
    block[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(std::round(values[i] * inverse)));
  }
}

/// Sixteen bytes of integers in 4 bits: (value - least) * inverse + rounding, cut off at 15.
void put_fours(Values values, float least, float inverse, float rounding, std::byte* bytes) {
  const auto round = [&](std::size_t i) {
    return std::min(15u, static_cast<unsigned>(static_cast<int>((values[i] - least) * inverse + rounding)));
  };
  for (std::size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(round(i) | round(i + 16) << 4);
}

void quantize_q4_0(Values values, std::byte* block) {
  const float extreme =
      *std::max_element(values.begin(), values.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float scale = extreme / -8;
  put_half(block, scale);
  put_fours(values, 0, invert(scale), 8.5f, block + 2);
}

void quantize_q4_1(Values values, std::byte* block) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const float scale = (*most - *least) / 15;
  put_half(block, scale);
  put_half(block + 2, *least);
  put_fours(values, *least, invert(scale), 0.5f, block + 4);
}

void dequantize_q8_0(const std::byte* block, float* values) {
  const float scale = get_half(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(static_cast<std::int8_t>(get(block + 2, i)));
}

void dequantize_q4_0(const std::byte* block, float* values) {
  const float scale = get_half(block);
  for (int i = 0; i < 16; ++i) {
    const unsigned two = get(block + 2, i);
    values[i] = scale * (static_cast<float>(two & 15) - 8);
    values[i + 16] = scale * (static_cast<float>(two >> 4) - 8);
  }
}

void dequantize_q4_1(const std::byte* block, float* values) {
  const float scale = get_half(block), least = get_half(block + 2);
  for (int i = 0; i < 16; ++i) {
    const unsigned two = get(block + 4, i);
    values[i] = scale * static_cast<float>(two & 15) + least;
    values[i + 16] = scale * static_cast<float>(two >> 4) + least;
  }
}

float get_signed(const std::byte* block, int i) { return static_cast<float>(static_cast<std::int8_t>(get(block, i))); }

/// Scale and least value of one of eight rows of 32 elements, six bits each: a block's are products of two, and so are
/// exact in f32.
struct RowScale {
  float scale, least;
};
RowScale get_row_scale(const std::byte* block, int row) {
  const std::byte* const packed = block + 4;  // twelve bytes
  const unsigned high = row < 4 ? 0 : get(packed, row + 4);
  const unsigned scale = row < 4 ? get(packed, row) & 63 : (high & 15) | (get(packed, row - 4) >> 6 << 4);
  const unsigned least = row < 4 ? get(packed, row + 4) & 63 : high >> 4 | (get(packed, row) >> 6 << 4);
  return {get_half(block) * static_cast<float>(scale), get_half(block + 2) * static_cast<float>(least)};
}

// Of 256 elements.
void dequantize_q4_k(const std::byte* block, float* values) {
  for (int row = 0; row < 8; ++row) {
    const RowScale s = get_row_scale(block, row);
    for (int i = 0; i < 32; ++i) {
      const unsigned q = get(block + 16, row / 2 * 32 + i) >> (row % 2 * 4) & 15;
      values[row * 32 + i] = s.scale * static_cast<float>(q) - s.least;
    }
  }
}

void dequantize_q5_k(const std::byte* block, float* values) {
  for (int row = 0; row < 8; ++row) {
    const RowScale s = get_row_scale(block, row);
    for (int i = 0; i < 32; ++i) {
      const unsigned low = get(block + 48, row / 2 * 32 + i) >> (row % 2 * 4) & 15;
      const unsigned high = get(block + 16, i) >> row & 1;
      values[row * 32 + i] = s.scale * static_cast<float>(low | high << 4) - s.least;
    }
  }
}

void dequantize_q6_k(const std::byte* block, float* values) {
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

/// Calls visit(block, first value) for every block.
template <typename Bytes, typename Visit>
void for_blocks(BlockFormat format, Bytes blocks, std::size_t values, Visit&& visit) {
  const auto bytes = static_cast<std::size_t>(block_bytes(format)), count = blocks.size() / bytes;
  const auto elements = static_cast<std::size_t>(block_elements(format));
  invariant(count * bytes == blocks.size() && count * elements == values, "blocks of another number of elements");
  for (std::size_t i = 0; i < count; ++i) visit(blocks.data() + i * bytes, i * elements);
}

}  // namespace

void quantize_blocks(BlockFormat format, std::span<const float> values, std::span<std::byte> blocks) {
  constexpr std::array<void (*)(Values, std::byte*), 3> quantize{quantize_q8_0, quantize_q4_0, quantize_q4_1};
  invariant(is_rounded(format), "values are rounded to a format that files alone have");
  for_blocks(format, blocks, values.size(), [&](std::byte* block, std::size_t first) {
    quantize[static_cast<std::size_t>(format)](values.subspan(first).first<rounded_elements>(), block);
  });
}

void dequantize_blocks(BlockFormat format, std::span<const std::byte> blocks, std::span<float> values) {
  constexpr std::array<void (*)(const std::byte*, float*), 6> dequantize{
      dequantize_q8_0, dequantize_q4_0, dequantize_q4_1, dequantize_q4_k, dequantize_q5_k, dequantize_q6_k};
  for_blocks(format, blocks, values.size(), [&](const std::byte* block, std::size_t first) {
    dequantize[static_cast<std::size_t>(format)](block, values.data() + first);
  });
}

}  // namespace ptrain

#include "core/base/block_format.h"

#include "core/base/dtype.h"
#include "core/base/errors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

using Values = std::span<const float, block_elements>;

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

/// Calls visit(block, first value) for every block.
template <typename Bytes, typename Visit>
void for_blocks(BlockFormat format, Bytes blocks, std::size_t values, Visit&& visit) {
  const auto bytes = static_cast<std::size_t>(block_bytes(format)), count = blocks.size() / bytes;
  invariant(count * bytes == blocks.size() && count * block_elements == values, "blocks of another number of elements");
  for (std::size_t i = 0; i < count; ++i) visit(blocks.data() + i * bytes, i * block_elements);
}

}  // namespace

void quantize_blocks(BlockFormat format, std::span<const float> values, std::span<std::byte> blocks) {
  constexpr std::array<void (*)(Values, std::byte*), 3> quantize{quantize_q8_0, quantize_q4_0, quantize_q4_1};
  for_blocks(format, blocks, values.size(), [&](std::byte* block, std::size_t first) {
    quantize[static_cast<std::size_t>(format)](values.subspan(first).first<block_elements>(), block);
  });
}

void dequantize_blocks(BlockFormat format, std::span<const std::byte> blocks, std::span<float> values) {
  constexpr std::array<void (*)(const std::byte*, float*), 3> dequantize{dequantize_q8_0, dequantize_q4_0,
                                                                         dequantize_q4_1};
  for_blocks(format, blocks, values.size(), [&](const std::byte* block, std::size_t first) {
    dequantize[static_cast<std::size_t>(format)](block, values.data() + first);
  });
}

}  // namespace ptrain

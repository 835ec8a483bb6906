#include "core/base/block_format.h"

#include "core/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ptrain {
namespace {

std::vector<float> random_values(std::size_t count, float scale) {
  std::vector<float> values(count);
  const RandomStream random{1, 0, 0};
  for (std::size_t i = 0; i < count; ++i) values[i] = scale * (static_cast<float>(random.uniform(i)) - 0.4f);
  return values;
}

std::vector<std::byte> quantize(BlockFormat format, const std::vector<float>& values) {
  std::vector<std::byte> blocks(static_cast<std::size_t>(bytes_in_blocks(format, std::ssize(values))));
  quantize_blocks(format, values, blocks);
  return blocks;
}

std::vector<float> dequantize(BlockFormat format, const std::vector<std::byte>& blocks) {
  std::vector<float> values(blocks.size() / static_cast<std::size_t>(block_bytes(format)) *
                            static_cast<std::size_t>(block_elements(format)));
  dequantize_blocks(format, blocks, values);
  return values;
}

/// Rounding moves a value by half a step at most: of 127 or 8 in the largest magnitude, or of 15 in the range. f16's
/// rounding of the scale moves the largest by 2^-11 of it.
TEST(BlockFormats, KeepValuesToWithinTheirStep) {
  const std::vector<float> values = random_values(640, 0.3f);
  const std::array<float, 3> steps{0.18f / 127 / 2, 0.18f / 8 / 2, 0.3f / 15 / 2};
  for (const BlockFormat format : rounded_block_formats) {
    const std::vector<float> kept = dequantize(format, quantize(format, values));
    float worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(values[i] - kept[i]));
    const float step = steps[static_cast<std::size_t>(format)];
    EXPECT_LE(worst, step + 0.18f / 2048) << enum_name(format);
    EXPECT_GE(worst, step / 2) << enum_name(format);
  }
}

TEST(BlockFormats, GiveTheSameBlocksAgain) {
  for (const BlockFormat format : rounded_block_formats) {
    const std::vector<std::byte> blocks = quantize(format, random_values(6400, 0.3f));
    EXPECT_EQ(quantize(format, dequantize(format, blocks)), blocks) << enum_name(format);
  }
}

TEST(BlockFormats, KeepZerosAndConstants) {
  for (const BlockFormat format : rounded_block_formats) {
    for (const float value : {0.0f, -1e-35f, 0.5f, -2.0f}) {
      const std::vector<float> values(64, value);
      for (const float kept : dequantize(format, quantize(format, values))) {
        EXPECT_NEAR(kept, value, 1e-3f * std::abs(value) + 1e-34f) << enum_name(format);
      }
    }
  }
}

TEST(BlockFormats, PackTheFirstHalfIntoLowHalves) {
  std::vector<float> values(32);
  for (std::size_t i = 0; i < 32; ++i) values[i] = static_cast<float>(i % 16);
  const std::vector<std::byte> blocks = quantize(BlockFormat::q4_1, values);  // scale 1, least 0
  EXPECT_EQ(std::to_integer<int>(blocks[1]), 0x3c);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::to_integer<std::size_t>(blocks[4 + i]), i | i << 4);
}

}  // namespace
}  // namespace ptrain

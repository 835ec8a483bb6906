// Philox against the known answers published with Random123, and what the streams promise.
#include "core/base/rng.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

void expect_words(const Philox4& actual, const Philox4& expected) {
  EXPECT_EQ(actual.x, expected.x);
  EXPECT_EQ(actual.y, expected.y);
  EXPECT_EQ(actual.z, expected.z);
  EXPECT_EQ(actual.w, expected.w);
}

TEST(Philox, GivesTheKnownAnswers) {
  expect_words(philox({0, 0, 0, 0}, 0, 0), {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  const std::uint32_t ones = 0xffffffffu;
  expect_words(philox({ones, ones, ones, ones}, ones, ones), {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
  expect_words(philox({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0xa4093822u, 0x299f31d0u),
               {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

TEST(RandomStream, ElementsAreTheWordsOfTheirBlock) {
  const RandomStream stream{7, 3, 5};
  for (std::uint64_t block = 0; block < 4; ++block) {
    const Philox4 words = stream.block(block);
    EXPECT_EQ(stream.bits(4 * block), words.x);
    EXPECT_EQ(stream.bits(4 * block + 1), words.y);
    EXPECT_EQ(stream.bits(4 * block + 2), words.z);
    EXPECT_EQ(stream.bits(4 * block + 3), words.w);
  }
}

TEST(RandomStream, DependsOnSeedStepAndStreamInAllTheirBits) {
  const std::uint64_t high = 1ull << 40;
  const std::set<std::uint32_t> words{RandomStream{1, 2, 3}.bits(0),         RandomStream{2, 2, 3}.bits(0),
                                      RandomStream{1, 3, 3}.bits(0),         RandomStream{1, 2, 4}.bits(0),
                                      RandomStream{1 + high, 2, 3}.bits(0),  RandomStream{1, 2 + high, 3}.bits(0),
                                      RandomStream{1, 2, 3}.bits(1ull << 32)};
  EXPECT_EQ(words.size(), 7u);
}

TEST(RandomStream, UniformStaysInRangeWithTheRightMean) {
  const RandomStream stream{42, 0, 0};
  double sum = 0;
  constexpr int count = 100000;
  for (std::uint64_t i = 0; i < count; ++i) {
    const float value = stream.uniform(i);
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    sum += static_cast<double>(value);
  }
  EXPECT_NEAR(sum / count, 0.5, 0.005);
}

}  // namespace
}  // namespace ptrain

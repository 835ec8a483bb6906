#include "core/infer/generation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace ptrain {
namespace {

constexpr std::array logits{0.0f, 2.0f, -1.0f, 2.0f, 1.0f};

/// How often each token is drawn, of numbers that lie evenly between 0 and 1.
std::map<std::int32_t, int> drawn(const GenerationOptions& options) {
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < 1000; ++i) ++counts[next_token(logits, options, static_cast<float>(i) / 1000)];
  return counts;
}

TEST(NextToken, IsTheLikeliestWhereNothingElseIsAskedFor) {
  EXPECT_EQ(drawn({.top_k = 1}), (std::map<std::int32_t, int>{{1, 1000}}));
  EXPECT_EQ(drawn({.top_k = 0, .temperature = 0}), (std::map<std::int32_t, int>{{1, 1000}}));
}

TEST(NextToken, IsDrawnByTheProbabilitiesOfTheLikeliestOnes) {
  const double sum = 2 + std::exp(-1.0);
  const auto counts = drawn({.top_k = 3});
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_NEAR(counts.at(1), 1000 / sum, 1.5);
  EXPECT_NEAR(counts.at(3), 1000 / sum, 1.5);
  EXPECT_NEAR(counts.at(4), 1000 * std::exp(-1.0) / sum, 1.5);
}

TEST(NextToken, AreMoreAlikeAtAHighTemperatureAndAllOfThemWithoutABound) {
  const auto counts = drawn({.top_k = 0, .temperature = 100});
  ASSERT_EQ(counts.size(), logits.size());
  for (const auto& [token, count] : counts) EXPECT_NEAR(count, 200, 5) << token;
}

}  // namespace
}  // namespace ptrain

#include "core/infer/sampling.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace ptrain {
namespace {

constexpr std::array logits{0.0f, 2.0f, -1.0f, 2.0f, 1.0f};

/// How often each token is drawn, of numbers that lie evenly between 0 and 1.
std::map<std::int32_t, int> drawn(const SamplingOptions& options, const std::vector<std::int32_t>& text = {}) {
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < 1000; ++i) ++counts[choose_token(logits, text, options, static_cast<float>(i) / 1000)];
  return counts;
}

/// Expects the tokens' counts to be in proportion to e^logit, and no other token.
void expect_drawn(const std::map<std::int32_t, int>& counts, const std::map<std::int32_t, double>& expected) {
  double sum = 0;
  for (const auto& [token, logit] : expected) sum += std::exp(logit);
  ASSERT_EQ(counts.size(), expected.size());
  for (const auto& [token, logit] : expected) EXPECT_NEAR(counts.at(token), 1000 * std::exp(logit) / sum, 1.5) << token;
}

TEST(ChooseToken, TakesTheLikeliestWhereNothingElseIsAskedFor) {
  EXPECT_EQ(drawn({.top_k = 1}), (std::map<std::int32_t, int>{{1, 1000}}));
  EXPECT_EQ(drawn({.top_k = 0, .temperature = 0}), (std::map<std::int32_t, int>{{1, 1000}}));
}

TEST(ChooseToken, DrawsByTheProbabilitiesOfTheLikeliestOnes) {
  expect_drawn(drawn({.top_k = 3}), {{1, 2}, {3, 2}, {4, 1}});
  expect_drawn(drawn({.top_k = 9}), {{0, 0}, {1, 2}, {2, -1}, {3, 2}, {4, 1}});
}

TEST(ChooseToken, DrawsMoreAlikeAtAHighTemperature) {
  expect_drawn(drawn({.top_k = 0, .temperature = 2}), {{0, 0}, {1, 1}, {2, -0.5}, {3, 1}, {4, 0.5}});
}

/// The probabilities in order are 0.38, 0.38, 0.14, 0.05 and 0.02, and without the last two 0.42, 0.42 and 0.16.
TEST(ChooseToken, TakesAsFewAsReachTopP) {
  expect_drawn(drawn({.top_k = 0, .top_p = 0.3f}), {{1, 2}});
  expect_drawn(drawn({.top_k = 0, .top_p = 0.7f}), {{1, 2}, {3, 2}});
  expect_drawn(drawn({.top_k = 0, .top_p = 0.8f}), {{1, 2}, {3, 2}, {4, 1}});
  expect_drawn(drawn({.top_k = 3, .top_p = 0.8f}), {{1, 2}, {3, 2}});
}

TEST(ChooseToken, LeavesOutWhatIsFarBelowTheLikeliest) {
  expect_drawn(drawn({.top_k = 0, .min_p = 0.3f}), {{1, 2}, {3, 2}, {4, 1}});  // e^-1 = 0.37
  expect_drawn(drawn({.top_k = 0, .min_p = 0.4f}), {{1, 2}, {3, 2}});
  expect_drawn(drawn({.top_k = 0, .min_p = 1}), {{1, 2}, {3, 2}});
}

TEST(ChooseToken, PenalizesEachTokenOfTheTextOnce) {
  expect_drawn(drawn({.top_k = 0, .repetition_penalty = 2}, {1, 1, 2}), {{0, 0}, {1, 1}, {2, -2}, {3, 2}, {4, 1}});
  EXPECT_EQ(drawn({.temperature = 0, .repetition_penalty = 2}, {1}), (std::map<std::int32_t, int>{{3, 1000}}));
}

}  // namespace
}  // namespace ptrain

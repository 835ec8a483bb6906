#include "core/analysis/intervals.h"

#include "core/analysis/speed.h"
#include "core/report/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ptrain {
namespace {

// Depression scale factors of nine patients (Hollander and Wolfe, example 3.1), whose published estimate and 96 %
// interval are -0.46 and (-0.786, -0.010).
TEST(SignedRankInterval, MatchesTheTextbook) {
  const std::vector<double> changes = {-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010};
  const Interval interval = signed_rank_interval(changes, 0.96);
  EXPECT_TRUE(interval.bounded);
  EXPECT_NEAR(interval.estimate, -0.46, 1e-9);
  EXPECT_NEAR(interval.lower, -0.786, 1e-9);
  EXPECT_NEAR(interval.upper, -0.010, 1e-9);
}

TEST(SignedRankInterval, NeedsSixPairsForNinetyFivePercent) {
  EXPECT_EQ(fewest_pairs(0.95), 6);
  EXPECT_FALSE(signed_rank_interval(std::vector<double>{1, 2, 3, 4, 5}, 0.95).bounded);
  EXPECT_TRUE(signed_rank_interval(std::vector<double>{1, 2, 3, 4, 5, 6}, 0.95).bounded);
  EXPECT_FALSE(signed_rank_interval({}, 0.95).bounded);
}

TEST(RankSumInterval, NeedsFourOfEachForNinetyFivePercent) {
  EXPECT_EQ(fewest_of_each(0.95), 4);
  EXPECT_FALSE(rank_sum_interval(std::vector<double>{1, 2, 3}, std::vector<double>{1, 2, 3}, 0.95).bounded);
}

TEST(RankSumInterval, ShiftsWithTheSecondSample) {
  const std::vector<double> base = {1.0, 1.1, 0.9, 1.05, 0.97, 1.02};
  std::vector<double> shifted = base;
  for (double& v : shifted) v += 5;
  const Interval interval = rank_sum_interval(base, shifted, 0.95);
  EXPECT_NEAR(interval.estimate, 5, 1e-12);
  EXPECT_LT(interval.lower, 5);
  EXPECT_GT(interval.upper, 5);
}

TEST(Intervals, ApproximateBeyondTheExactSizesWithoutAJump) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int i = 0; i < 61; ++i) values.push_back(normal(random));
  const Interval beyond = signed_rank_interval(values, 0.95);
  values.pop_back();
  const Interval exact = signed_rank_interval(values, 0.95);
  EXPECT_NEAR(beyond.half_width(), exact.half_width(), 0.1 * exact.half_width());
}

/// How often an interval of `make` misses zero, the centre of what it is given.
template <typename Make>
double miss_rate(Make make) {
  std::mt19937_64 random(11);
  int missed = 0;
  constexpr int trials = 2000;
  for (int t = 0; t < trials; ++t) {
    const Interval interval = make(random);
    missed += interval.lower > 0 || interval.upper < 0 ? 1 : 0;
  }
  return static_cast<double>(missed) / trials;
}

TEST(Intervals, MissTheTruthInAtMostFivePercentAlsoWithHeavyTails) {
  const auto heavy = [](std::mt19937_64& random) {
    std::cauchy_distribution<double> tails(0, 1);
    std::vector<double> values;
    for (int i = 0; i < 10; ++i) values.push_back(tails(random));
    return values;
  };
  EXPECT_LE(miss_rate([&](auto& random) { return signed_rank_interval(heavy(random), 0.95); }), 0.06);
  EXPECT_LE(miss_rate([&](auto& random) { return rank_sum_interval(heavy(random), heavy(random), 0.95); }), 0.06);
}

TEST(CentreInterval, HasBoundsFromTwoValuesOn) {
  EXPECT_FALSE(centre_interval(std::vector<double>{1}, 0.95).bounded);
  const Interval two = centre_interval(std::vector<double>{1, 3}, 0.95);
  EXPECT_NEAR(two.estimate, 2, 1e-12);
  EXPECT_NEAR(two.lower, 2 - 31.8205, 1e-3);
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(centre_interval(six, 0.95).lower, signed_rank_interval(six, 0.95).lower);
}

TEST(StudentQuantile, MatchesTheTables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.7062, 1e-3);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.30265, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 3), 3.18245, 1e-4);
  EXPECT_NEAR(student_quantile(0.995, 10), 3.16927, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 400), 1.96591, 1e-4);
}

TEST(NormalQuantile, MatchesTheTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963985, 1e-8);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-8);
  EXPECT_NEAR(normal_quantile(0.005), -2.575829304, 1e-8);
}

TEST(BlockInterval, IsOfTheMeanStepAndNeedsTwentySteps) {
  std::vector<double> step_ms;
  for (int i = 0; i < 40; ++i) step_ms.push_back(i % 2 == 0 ? 9 : 11 + 0.1 * (i / 4));  // means of blocks: 10 to 10.45
  const Interval interval = block_interval(step_ms);
  EXPECT_TRUE(interval.bounded);
  EXPECT_NEAR(interval.estimate, 10.225, 0.01);
  EXPECT_GT(interval.lower, 10);
  EXPECT_LT(interval.upper, 10.45);
  EXPECT_FALSE(block_interval(std::span(step_ms).first(19)).bounded);
}

}  // namespace
}  // namespace ptrain

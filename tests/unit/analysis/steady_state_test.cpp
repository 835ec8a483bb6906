#include "core/analysis/steady_state.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace ptrain {
namespace {

std::vector<double> noisy(int steps, double level, double noise) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, noise);
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) times.push_back(level * (1 + normal(random)));
  return times;
}

TEST(SteadyState, LeavesOutSlowFirstSteps) {
  std::vector<double> times = noisy(100, 10, 0.02);
  for (int i = 0; i < 7; ++i) times[static_cast<std::size_t>(i)] *= 3 - 0.2 * i;
  const SteadyState state = find_steady_state(times);
  EXPECT_TRUE(state.reached) << state.reason;
  EXPECT_GE(state.warmup_steps, 7);
  EXPECT_LE(state.warmup_steps, 20);
}

TEST(SteadyState, KeepsARunThatIsSteadyFromTheStart) {
  const SteadyState state = find_steady_state(noisy(100, 10, 0.05));
  EXPECT_TRUE(state.reached) << state.reason;
  EXPECT_LT(state.warmup_steps, 30);
}

TEST(SteadyState, IsNotMisledByOneLateSpike) {
  std::vector<double> times = noisy(60, 10, 0.02);
  times[57] = 200;
  EXPECT_TRUE(find_steady_state(times).reached);
}

TEST(SteadyState, IsUnstableWhenTheWarmUpDoesNotEnd) {
  std::vector<double> times;
  for (int i = 0; i < 60; ++i) times.push_back(100.0 - i);
  const SteadyState state = find_steady_state(times);
  EXPECT_FALSE(state.reached);
  EXPECT_FALSE(state.reason.empty());
}

TEST(SteadyState, IsUnstableWhenTheWarmUpPassesItsBound) {
  std::vector<double> times = noisy(100, 10, 0.01);
  for (int i = 0; i < 30; ++i) times[static_cast<std::size_t>(i)] *= 2;
  SteadyRule rule;
  EXPECT_TRUE(find_steady_state(times, rule).reached);
  rule.most_warmup_steps = 10;
  EXPECT_FALSE(find_steady_state(times, rule).reached);
}

TEST(SteadyState, IsUnstableWhenTheRunDriftsLate) {
  std::vector<double> times = noisy(100, 10, 0.01);
  for (std::size_t i = 70; i < times.size(); ++i) times[i] *= 1.5;
  EXPECT_FALSE(find_steady_state(times).reached);
}

TEST(SteadyState, NeedsEightSteps) {
  EXPECT_FALSE(find_steady_state(noisy(7, 10, 0)).reached);
  EXPECT_TRUE(find_steady_state(noisy(8, 10, 0)).reached);
  EXPECT_FALSE(find_steady_state({}).reached);
}

}  // namespace
}  // namespace ptrain

#include "core/analysis/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ptrain {
namespace {

/// Changes within `count` pairs of a program that is `percent` slower, with normal noise and, one time in ten, a run
/// that something else disturbed.
StepLogs noisy_changes(std::mt19937_64& random, int count, double percent, double noise_percent) {
  std::normal_distribution<double> normal(0, noise_percent / 100);
  std::exponential_distribution<double> disturbance(1 / (5 * noise_percent / 100));
  StepLogs logs;
  for (int i = 0; i < count; ++i) {
    double change = std::log1p(percent / 100) + normal(random);
    if (random() % 10 == 0) change += (random() % 2 == 0 ? 1 : -1) * disturbance(random);
    logs.typical.push_back(change);
    logs.mean.push_back(change);
  }
  return logs;
}

double get_rate(Verdict verdict, int pairs, double percent, double noise_percent) {
  std::mt19937_64 random(3);
  int called = 0;
  constexpr int trials = 1000;
  for (int t = 0; t < trials; ++t) {
    called += test_paired_change(noisy_changes(random, pairs, percent, noise_percent), {}).verdict == verdict ? 1 : 0;
  }
  return static_cast<double>(called) / trials;
}

TEST(JudgePairs, CallsNoChangeInWhatDidNotChange) {
  for (const double noise : {0.5, 2.0, 8.0}) {
    EXPECT_LE(get_rate(Verdict::slower, 10, 0, noise), 0.03) << noise;
    EXPECT_LE(get_rate(Verdict::faster, 10, 0, noise), 0.03) << noise;
  }
}

TEST(JudgePairs, FindsThreePercentWhereTheNoiseAllows) {
  EXPECT_GE(get_rate(Verdict::slower, 16, 3, 1.0), 0.95);
  EXPECT_GE(get_rate(Verdict::slower, 16, 10, 2.0), 0.99);
  EXPECT_GE(get_rate(Verdict::faster, 16, -10, 2.0), 0.99);
}

TEST(JudgePairs, CallsTheSameTheSame) { EXPECT_GE(get_rate(Verdict::same, 16, 0, 0.8), 0.95); }

TEST(JudgePairs, SaysHowManyMorePairsWhenTooFew) {
  const SpeedChange change = test_paired_change({{0.10, 0.11, 0.12}, {0.10, 0.11, 0.12}}, {});
  EXPECT_EQ(change.verdict, Verdict::inconclusive);
  EXPECT_EQ(change.more_runs, 3);
  EXPECT_NE(change.reason.find("3 pairs more"), std::string::npos);
}

TEST(JudgePairs, SaysNothingFromNothing) {
  const SpeedChange change = test_paired_change({}, {});
  EXPECT_EQ(change.verdict, Verdict::inconclusive);
  EXPECT_EQ(change.more_runs, 6);
}

TEST(JudgePairs, SeesStallsThatTheTypicalStepHides) {
  StepLogs changes;
  for (int i = 0; i < 10; ++i) {
    changes.typical.push_back(0.0005 * (i % 3));
    changes.mean.push_back(0.2 + 0.001 * i);
  }
  const SpeedChange change = test_paired_change(changes, {});
  EXPECT_EQ(change.verdict, Verdict::slower);
  EXPECT_NE(change.reason.find("stall"), std::string::npos);
}

TEST(JudgeGroups, WidensByTheDriftWithinEachSide) {
  StepLogs still, drifting;
  for (int i = 0; i < 8; ++i) {
    still.typical.push_back(0.001 * (i % 2));
    drifting.typical.push_back(0.03 + 0.02 * i + 0.001 * (i % 2));
  }
  still.mean = still.typical;
  drifting.mean = drifting.typical;
  const SpeedChange change = test_group_change(still, drifting, {});
  EXPECT_GT(change.percent.half_width(), 4);
}

}  // namespace
}  // namespace ptrain

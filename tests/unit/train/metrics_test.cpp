#include "core/train/metrics.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace ptrain {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

ClassificationMetrics of(std::int64_t classes, const std::vector<float>& logits,
                         const std::vector<std::int32_t>& labels) {
  ClassificationMetrics metrics(classes);
  metrics.add(logits, labels);
  return metrics;
}

TEST(Metrics, CountTop1AndTop5) {
  const std::vector<float> row{6, 5, 4, 3, 2, 1};
  std::vector<float> logits;
  for (int i = 0; i < 6; ++i) logits.insert(logits.end(), row.begin(), row.end());
  const ClassificationMetrics metrics = of(6, logits, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(metrics.samples(), 6);
  EXPECT_DOUBLE_EQ(metrics.top1(), 1.0 / 6);
  EXPECT_DOUBLE_EQ(metrics.top5(), 5.0 / 6);
}

TEST(Metrics, BreakTiesByIndex) {
  EXPECT_DOUBLE_EQ(of(3, {1, 1, 1}, {0}).top1(), 1.0);
  EXPECT_DOUBLE_EQ(of(3, {1, 1, 1}, {1}).top1(), 0.0);
  EXPECT_DOUBLE_EQ(of(6, {0, 0, 0, 0, 0, 0}, {4}).top5(), 1.0);
  EXPECT_DOUBLE_EQ(of(6, {0, 0, 0, 0, 0, 0}, {5}).top5(), 0.0);
}

TEST(Metrics, NeverCountNaNAsRight) {
  EXPECT_DOUBLE_EQ(of(6, {nan, nan, nan, nan, nan, nan}, {0}).top1(), 0.0);
  EXPECT_DOUBLE_EQ(of(6, {nan, nan, nan, nan, nan, nan}, {0}).top5(), 0.0);
  EXPECT_DOUBLE_EQ(of(2, {1, nan}, {0}).top1(), 0.0);
  EXPECT_DOUBLE_EQ(of(2, {nan, 1}, {0}).top1(), 0.0);
}

TEST(Metrics, TwoClassesAlwaysHaveTheLabelInTheTop5) { EXPECT_DOUBLE_EQ(of(2, {1, 0}, {1}).top5(), 1.0); }

TEST(Metrics, F1IsTheHarmonicMeanOfPrecisionAndRecall) {
  // Predicted 1,1,1,0,0; actual 1,1,0,1,0: precision 2/3, recall 2/3.
  const ClassificationMetrics metrics = of(2, {0, 1, 0, 1, 0, 1, 1, 0, 1, 0}, {1, 1, 0, 1, 0});
  EXPECT_DOUBLE_EQ(metrics.f1(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.top1(), 3.0 / 5);
  EXPECT_DOUBLE_EQ(of(2, {1, 0}, {0}).f1(), 0.0);
}

TEST(Metrics, WeighTheLossBySamples) {
  ClassificationMetrics metrics(2);
  EXPECT_DOUBLE_EQ(metrics.mean_loss(), 0.0);
  EXPECT_DOUBLE_EQ(metrics.top1(), 0.0);
  metrics.add(std::array{1.0f, 0.0f, 1.0f, 0.0f, 1.0f, 0.0f}, std::array{0, 0, 0});
  metrics.add_loss(1.0, 3);
  metrics.add(std::array{1.0f, 0.0f}, std::array{0});
  metrics.add_loss(5.0, 1);
  EXPECT_DOUBLE_EQ(metrics.mean_loss(), 2.0);
}

}  // namespace
}  // namespace ptrain

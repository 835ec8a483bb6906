#include "core/ops/math/statistics_drift.h"

#include <gtest/gtest.h>

#include <limits>

namespace ptrain {
namespace statistics_drift_test {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(StatisticsDrift, IsNothingBetweenEqualStatistics) { EXPECT_EQ(statistics_drift(-3.0f, 0.5f, -3.0f, 0.5f), 0.0f); }

TEST(StatisticsDrift, MeasuresTheMeansInStandardDeviations) {
  EXPECT_FLOAT_EQ(statistics_drift(1.25f, 0.5f, 1.0f, 0.5f), 0.125f);
  EXPECT_FLOAT_EQ(statistics_drift(0.75f, 0.5f, 1.0f, 0.5f), 0.125f);
}

TEST(StatisticsDrift, MeasuresStandardDeviationsRelatively) {
  EXPECT_FLOAT_EQ(statistics_drift(0.0f, 110.0f, 0.0f, 100.0f), 0.1f);
  EXPECT_FLOAT_EQ(statistics_drift(0.0f, 90.0f, 0.0f, 100.0f), 0.1f);
}

TEST(StatisticsDrift, IsTheLargerOfTheTwo) {
  EXPECT_FLOAT_EQ(statistics_drift(0.25f, 1.125f, 0.0f, 1.0f), 0.25f);
  EXPECT_FLOAT_EQ(statistics_drift(0.125f, 1.25f, 0.0f, 1.0f), 0.25f);
}

TEST(StatisticsDrift, IsInfiniteWhereOnlyThePlainStatisticsAreNumbers) {
  EXPECT_EQ(statistics_drift(nan, 1.0f, 0.0f, 1.0f), infinity);
  EXPECT_EQ(statistics_drift(0.0f, infinity, 0.0f, 1.0f), infinity);
}

TEST(StatisticsDrift, BlamesNobodyForDataThatIsOutOfRange) {
  EXPECT_EQ(statistics_drift(nan, nan, infinity, nan), 0.0f);
  EXPECT_EQ(statistics_drift(0.0f, 1.0f, nan, 1.0f), 0.0f);
  EXPECT_EQ(statistics_drift(0.0f, 0.0f, 0.0f, 0.0f), 0.0f);
}

}  // namespace statistics_drift_test
}  // namespace ptrain

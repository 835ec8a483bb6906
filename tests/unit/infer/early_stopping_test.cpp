// MLPerf's early stopping, whose least numbers of queries LoadGen prints: 64 for p90, 662 for p99.
#include "core/infer/early_stopping.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace ptrain {
namespace {

TEST(EarlyStopping, TakesTheQueriesThatLoadGenNames) {
  EXPECT_EQ(least_queries(1, 0.9), 64);
  EXPECT_EQ(least_queries(1, 0.99), 662);
  EXPECT_EQ(least_queries(0, 0.99), 459);  // 0.99^459 is the first power below 0.01
}

TEST(EarlyStopping, LeastAndMostAreEachOthersInverse) {
  for (const double percentile : {0.9, 0.97, 0.99}) {
    for (const std::int64_t over : {0, 1, 5, 40, 900}) {
      const std::int64_t least = least_queries(over, percentile);
      EXPECT_GE(most_over(least, percentile), over);
      EXPECT_LT(most_over(least - 1, percentile), over);
    }
  }
}

TEST(EarlyStopping, EstimatesFromTheHighestLatencies) {
  std::vector<double> latencies(1000);
  std::iota(latencies.rbegin(), latencies.rend(), 1.0);
  const EarlyStopping found = estimate_percentile(latencies, 0.9);
  EXPECT_TRUE(found.met);
  EXPECT_EQ(found.estimate_ms, 1001.0 - static_cast<double>(most_over(1000, 0.9)));
  EXPECT_GT(*found.estimate_ms, 900.0);
  EXPECT_LT(*found.estimate_ms, 940.0);
}

TEST(EarlyStopping, SaysNothingOfTooFewQueries) {
  const std::vector<double> few(63, 1.0), enough(64, 1.0);
  EXPECT_FALSE(estimate_percentile(few, 0.9).met);
  EXPECT_FALSE(estimate_percentile(few, 0.9).estimate_ms);
  EXPECT_TRUE(estimate_percentile(enough, 0.9).met);
  EXPECT_FALSE(hold_percentile(1, 661, 0.99).met);
  EXPECT_TRUE(hold_percentile(1, 662, 0.99).met);
}

}  // namespace
}  // namespace ptrain

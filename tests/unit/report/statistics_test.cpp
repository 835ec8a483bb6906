#include "core/report/statistics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

namespace ptrain {
namespace {

TEST(Statistics, OfOneToHundredMatchNumpy) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Statistics s = summarize(values);
  EXPECT_EQ(s.count, 100);
  EXPECT_DOUBLE_EQ(s.mean, 50.5);
  EXPECT_DOUBLE_EQ(s.p50, 50.5);
  EXPECT_DOUBLE_EQ(s.p90, 90.1);
  EXPECT_DOUBLE_EQ(s.p95, 95.05);
  EXPECT_DOUBLE_EQ(s.p99, 99.01);
  EXPECT_NEAR(s.stdev, 29.011491975882016, 1e-12);
}

TEST(Statistics, OfOneValueAndNone) {
  const Statistics one = summarize(std::vector<double>{3.5});
  EXPECT_EQ(one.p99, 3.5);
  EXPECT_EQ(one.stdev, 0);
  const Statistics none = summarize({});
  EXPECT_EQ(none.count, 0);
  EXPECT_EQ(none.mean, 0);
}

}  // namespace
}  // namespace ptrain

#include "core/analysis/published.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ptrain {
namespace {

std::vector<MeasuredRun> make_seed_runs(const std::vector<double>& values) {
  std::vector<MeasuredRun> runs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    MetricValue metric;
    metric.name = metric.title = "top1";
    metric.kind = MetricKind::fraction;
    metric.value = values[i];
    MeasuredRun& run = runs.emplace_back();
    run.record.seed = static_cast<std::int64_t>(i);
    run.record.figures = RunFigures{};
    run.record.figures->evaluation = Evaluation{{metric}, 10000, {}, {}};
  }
  return runs;
}

PublishedComparison compare_seeds(const std::vector<MeasuredRun>& runs, const PublishedValue& published) {
  std::vector<const MeasuredRun*> pointers;
  for (const MeasuredRun& run : runs) pointers.push_back(&run);
  return compare_with_published(pointers, published);
}

TEST(Published, AgreesWithinTheIntervalOfADifference) {
  const auto runs = make_seed_runs({0.7590, 0.7600, 0.7585, 0.7595, 0.7595});
  const PublishedComparison one = compare_seeds(runs, {0.7600, 1});
  EXPECT_NEAR(one.mean, 0.7593, 1e-9);
  EXPECT_NEAR(one.stdev, 0.000570, 1e-6);
  EXPECT_NEAR(one.upper - one.mean, 2.7764 * 0.000570 * std::sqrt(1 / 5.0 + 1), 1e-6);
  EXPECT_EQ(one.agreement, Agreement::within);
  EXPECT_EQ(compare_seeds(runs, {0.7613, 1}).agreement, Agreement::below);
  EXPECT_EQ(compare_seeds(runs, {0.7573, 1}).agreement, Agreement::above);
  EXPECT_LT(compare_seeds(runs, {0.76, 5}).upper, one.upper);
  EXPECT_EQ(
      published_text(compare_seeds(runs, {0.7613, 1}), {0.7613, 1}),
      "0.7593 ± 0.0006 over 5 seeds; published 0.7613: below (agrees from 0.7576 to 0.7610; a difference of 0.0023 "
      "is found in 80 % of cases)");
}

TEST(Published, NeedsTwoSeeds) {
  EXPECT_EQ(compare_seeds(make_seed_runs({0.76}), {0.5, 1}).agreement, Agreement::unknown);
  auto runs = make_seed_runs({0.76, 0.77});
  runs[1].record.seed = runs[0].record.seed;  // a repeat
  EXPECT_EQ(compare_seeds(runs, {0.5, 1}).agreement, Agreement::unknown);
  EXPECT_FALSE(compare_seeds({}, {0.5, 1}).metric);
}

TEST(Published, ErrsAndFindsAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.001);
  for (const std::int64_t seeds : {3, 5, 10}) {
    const double difference = 0.001 * find_detectable_difference(seeds, 1);
    int wrong = 0, found = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < seeds; ++i) values.push_back(0.75 + noise(random));
      const double published = 0.75 + noise(random);
      const auto runs = make_seed_runs(values);
      wrong += compare_seeds(runs, {published, 1}).agreement != Agreement::within ? 1 : 0;
      found += compare_seeds(runs, {published + difference, 1}).agreement == Agreement::below ? 1 : 0;
    }
    EXPECT_NEAR(wrong, 100, 35) << seeds;
    EXPECT_GE(found, 1500) << seeds;
    EXPECT_LE(found, 1800) << seeds;
  }
}

}  // namespace
}  // namespace ptrain

// Which ranks and links are called slow: planted ones always, none of those that differ by noise.
#include "core/machine_check/rank_figures.h"

#include <gtest/gtest.h>

#include <random>

namespace ptrain {
namespace {

constexpr int laps = 8;

/// A figure of ranks that are all `value` but for noise of `noise` and laps that differ for all of them.
RankFigure make_figure(int ranks, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  RankFigure figure{"work", "Gop/s", 0.1, {}};
  for (int lap = 0; lap < laps; ++lap) {
    const double machine = 100 * std::exp(0.3 * normal(random));
    std::vector<double>& values = figure.laps.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) values.push_back(machine * std::exp(noise * normal(random)));
  }
  return figure;
}

void slow_down(RankFigure& figure, std::size_t rank, double factor) {
  for (std::vector<double>& lap : figure.laps) lap[rank] *= factor;
}

TEST(RankFigures, FindASlowRankWithItsIntervalAndNoOther) {
  for (const int ranks : {3, 8, 1024}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      RankFigure figure = make_figure(ranks, 0.02, seed);
      EXPECT_TRUE(find_slow_ranks(figure).empty()) << ranks;
      slow_down(figure, 1, 0.8);
      const std::vector<RankDistance> slow = find_slow_ranks(figure);
      ASSERT_EQ(slow.size(), 1u) << ranks;
      EXPECT_EQ(slow[0].rank, 1);
      EXPECT_NEAR(slow[0].percent.estimate, -20, 5);
      EXPECT_LE(slow[0].percent.lower, slow[0].percent.estimate);
      EXPECT_LT(slow[0].percent.upper, -10);
    }
  }
}

TEST(RankFigures, SeldomNameARankWhereAllAreAlikeHoweverNoisy) {
  int named = 0;
  for (unsigned seed = 0; seed < 200; ++seed) named += find_slow_ranks(make_figure(16, 0.15, seed)).empty() ? 0 : 1;
  EXPECT_LE(named, 10);  // and a second pass has to agree
}

TEST(RankFigures, DoNotNameOneOfTwo) {
  RankFigure figure = make_figure(2, 0.02, 1);
  slow_down(figure, 1, 0.5);
  EXPECT_TRUE(compare_ranks(figure).empty());
}

TEST(RankFigures, LeaveOutWhatARankDidNotMeasure) {
  RankFigure figure = make_figure(5, 0.02, 1);
  slow_down(figure, 4, 0);
  EXPECT_EQ(compare_ranks(figure).size(), 4u);
}

/// Every pair in each lap; `factor` scales the rate of a pair.
template <typename Factor>
std::vector<LinkSample> make_links(int ranks, const Factor& factor) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<LinkSample> samples;
  for (int lap = 0; lap < laps; ++lap) {
    for (int first = 0; first < ranks; ++first) {
      for (int second = first + 1; second < ranks; ++second) {
        samples.push_back({lap, first, second, 10 * factor(first, second) * std::exp(0.05 * normal(random))});
      }
    }
  }
  return samples;
}

RankFigure combine(const std::vector<LinkSample>& samples, int ranks) {
  RankFigure figure = combine_links(samples, ranks, laps);
  figure.tolerance = 0.25;
  return figure;
}

TEST(RankFigures, ASlowLinkOfARankIsThatRanks) {
  for (const int ranks : {4, 16}) {
    const auto samples = make_links(ranks, [](int first, int second) { return first == 2 || second == 2 ? 0.3 : 1.0; });
    const RankFigure figure = combine(samples, ranks);
    const std::vector<RankDistance> slow = find_slow_ranks(figure);
    ASSERT_EQ(slow.size(), 1u);
    EXPECT_EQ(slow[0].rank, 2);
    EXPECT_TRUE(find_doubtful_links(samples, figure, 8).empty());  // its ranks explain each of them
  }
}

TEST(RankFigures, ASlowLinkBetweenTwoRanksIsNeitherRanks) {
  const auto samples = make_links(6, [](int first, int second) { return first == 1 && second == 4 ? 0.3 : 1.0; });
  const RankFigure figure = combine(samples, 6);
  EXPECT_TRUE(find_slow_ranks(figure).empty());
  const std::vector<LinkDistance> doubtful = find_doubtful_links(samples, figure, 8);
  ASSERT_EQ(doubtful.size(), 1u);
  EXPECT_EQ(doubtful[0].first, 1);
  EXPECT_EQ(doubtful[0].second, 4);
  EXPECT_LT(doubtful[0].percent.upper, -25);
}

}  // namespace
}  // namespace ptrain

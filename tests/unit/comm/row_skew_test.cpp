#include "core/comm/row_skew.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace ptrain {
namespace {

/// By formula: of n ids that are as likely as all others, V (1 - (1 - 1 / V)^n) differ.
TEST(RowSkew, RowsThatAreAsLikelyDifferMost) {
  const double different = count_rows_read(2600, 10'000, 0, 8).different;
  EXPECT_NEAR(different, 10'000 * (1 - std::pow(1 - 1e-4, 2600)), 1e-6);
  EXPECT_EQ(count_rows_read(2600, 10'000, 0, 8).busiest, 1);
  EXPECT_LT(count_rows_read(2600, 10'000, 0.5, 8).different, different);
  EXPECT_EQ(count_rows_read(2600, 1, 1, 8).different, 1);
}

TEST(RowSkew, SumsOverManyRowsAreThoseTakenOneByOne) {
  constexpr double ids = 50'000, rows = 1e6, zipf = 1.1;
  double all = 0, different = 0;
  for (double i = 1; i <= rows; ++i) all += std::pow(i, -zipf);
  for (double i = 1; i <= rows; ++i) different += 1 - std::pow(1 - std::pow(i, -zipf) / all, ids);
  EXPECT_NEAR(count_rows_read(ids, rows, zipf, 8).different / different, 1, 1e-4);
}

/// Ranks draw their batches, and ask the ranks that have the rows.
TEST(RowSkew, IsThatOfBatchesThatAreDrawn) {
  constexpr int ids = 2000, rows = 5000, ranks = 16, trials = 200;
  constexpr double zipf = 1.2;
  std::vector<double> weights(rows);
  for (int i = 0; i < rows; ++i) weights[static_cast<std::size_t>(i)] = std::pow(i + 1, -zipf);
  std::mt19937_64 random{1};
  std::discrete_distribution<int> draw(weights.begin(), weights.end());
  std::uniform_int_distribution<int> place(0, ranks - 1);
  double different = 0, busiest = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<int> owners(rows), asked(ranks);
    for (int& owner : owners) owner = place(random);
    for (int rank = 0; rank < ranks; ++rank) {
      std::set<int> batch;
      for (int i = 0; i < ids; ++i) batch.insert(draw(random));
      different += static_cast<double>(batch.size()) / ranks / trials;
      for (const int row : batch) ++asked[static_cast<std::size_t>(owners[static_cast<std::size_t>(row)])];
    }
    const double mean = std::accumulate(asked.begin(), asked.end(), 0.0) / ranks;
    busiest += *std::ranges::max_element(asked) / mean / trials;
  }
  const RowsRead predicted = count_rows_read(ids, rows, zipf, ranks);
  EXPECT_NEAR(predicted.different / different, 1, 0.01);
  EXPECT_NEAR((predicted.busiest - 1) / (busiest - 1), 1, 0.4)
      << "the largest of few deviates is less than the formula's";
  EXPECT_GT(predicted.busiest, 1.05);
}

}  // namespace
}  // namespace ptrain

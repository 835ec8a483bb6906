// A task whose targets follow from predictions, with three losses in training and none in evaluation.
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ptrain {
namespace {

using namespace testing;

Config aligned_config() { return detector_config("ppyoloe_tiny", 16); }

TEST(AlignedDetectionTraining, LearnsAndReportsItsLosses) {
  Config config = aligned_config();
  config.train.steps = 60;
  const RunResult result = train(config).result;
  // It rises in the first steps, in which more and more boxes are assigned with higher scores.
  const auto mean = [&](std::size_t first) {
    const auto begin = result.losses.begin() + static_cast<std::ptrdiff_t>(first);
    return std::accumulate(begin, begin + 10, 0.0) / 10;
  };
  EXPECT_LT(mean(50), 0.85 * mean(8));
  EXPECT_EQ(result.loss_terms.size(), 3U);
  const auto first = [&](const char* name) { return result.loss_terms.at(name).first; };
  EXPECT_NEAR(first("classification") + 2.5 * first("giou") + 0.5 * first("distribution"), result.losses.front(), 1e-4);
  ASSERT_FALSE(result.evaluations.empty());
  EXPECT_FALSE(result.evaluations.back().loss.has_value());
  EXPECT_TRUE(result.evaluations.back().evaluation.find("map")->value.has_value());
}

TEST(AlignedDetectionTraining, LearnsInLowPrecision) { expect_alike_in_low_precision(aligned_config()); }

}  // namespace
}  // namespace ptrain

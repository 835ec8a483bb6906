// A task whose targets follow from predictions, with three losses in training and none in evaluation.
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

Config aligned_config() { return detector_config("ppyoloe_tiny", 16); }

TEST(AlignedDetectionTraining, LearnsAndReportsItsLosses) {
  const RunResult result = train(aligned_config()).result;
  EXPECT_LT(result.losses.back(), 0.9 * result.losses.front());
  EXPECT_EQ(result.loss_terms.size(), 3U);
  const auto first = [&](const char* name) { return result.loss_terms.at(name).first; };
  EXPECT_NEAR(first("classification") + 2.5 * first("giou") + 0.5 * first("distribution"), result.losses.front(), 1e-4);
  ASSERT_EQ(result.evaluations.size(), 1U);
  EXPECT_FALSE(result.evaluations.back().loss.has_value());
  EXPECT_TRUE(result.evaluations.back().evaluation.find("map")->value.has_value());
}

TEST(AlignedDetectionTraining, LearnsInLowPrecision) { expect_alike_in_low_precision(aligned_config()); }

}  // namespace
}  // namespace ptrain

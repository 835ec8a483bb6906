// A task whose model samples what is learnt, with five losses in training and none in evaluation.
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

Config masks_config() { return detector_config("maskrcnn_tiny", 8); }

void expect_masks_learnt(const Config& config) {
  const RunResult result = train(config).result;
  EXPECT_LT(result.losses.back(), 0.9 * result.losses.front());
  double sum = 0;
  for (const auto& [name, term] : result.loss_terms) sum += term.first;
  EXPECT_EQ(result.loss_terms.size(), 5U);
  EXPECT_NEAR(sum, result.losses.front(), 1e-4);
  ASSERT_EQ(result.evaluations.size(), 1U);
  const EvalResult& last = result.evaluations.back();
  EXPECT_FALSE(last.loss.has_value());
  EXPECT_EQ(last.evaluation.primary()->name, "mask_map");
  EXPECT_TRUE(last.evaluation.find("mask_map")->value.has_value());
  EXPECT_TRUE(last.evaluation.find("map")->value.has_value());
}

TEST(InstanceSegmentationTraining, LearnsAndReportsItsLosses) { expect_masks_learnt(masks_config()); }

TEST(InstanceSegmentationTraining, LearnsOnASingleMap) { expect_masks_learnt(detector_config("maskrcnn_c4_tiny", 8)); }

TEST(InstanceSegmentationTraining, SamplesAnewInEachStepAndAlikeInEachRun) {
  const RunResult one = train(masks_config()).result, other = train(masks_config()).result;
  EXPECT_EQ(one.losses, other.losses);
}

TEST(InstanceSegmentationTraining, KeepsBoxesExactInLowPrecision) { expect_alike_in_low_precision(masks_config()); }

}  // namespace
}  // namespace ptrain

// A task with boxes and two losses, trained through the same code as any other.
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

Config boxes_config() { return detector_config("retinanet_tiny", 16); }

TEST(DetectionTraining, LearnsAndReportsBothLosses) {
  const RunResult result = train(boxes_config()).result;
  EXPECT_LT(result.losses.back(), 0.8 * result.losses.front());
  ASSERT_EQ(result.loss_terms.size(), 2U);
  const TrainedTerm classes = result.loss_terms.at("classification"), boxes = result.loss_terms.at("bbox_regression");
  EXPECT_NEAR(classes.first + boxes.first, result.losses.front(), 1e-4);
  ASSERT_EQ(result.evaluations.size(), 1U);
  EXPECT_TRUE(result.evaluations.back().evaluation.find("map")->value.has_value());
}

TEST(DetectionTraining, AddsUpMicroBatches) {
  Config config = boxes_config();
  config.train.steps = 1;
  const RunResult whole = train(config).result;
  config.data.batch_size = 8;
  config.train.accumulate_steps = 2;
  EXPECT_NEAR(train(config).result.losses.front(), whole.losses.front(), 2e-2) << "norms see other batches";
}

TEST(DetectionTraining, LearnsInLowPrecision) { expect_alike_in_low_precision(boxes_config()); }

}  // namespace
}  // namespace ptrain

// A task with boxes and two losses, trained through the same rooms as any other.
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

Config boxes_config() {
  Config config = resnet_config();
  config.model.entry = find_model("retinanet_tiny");
  config.model.classes = 3;
  config.data.image_size = 64;
  config.data.batch_size = 16;
  config.data.synthetic_samples = 128;
  config.train.steps = 8;
  config.train.optimizer.name = OptimizerKind::adamw;
  config.train.optimizer.lr = 0.002;
  config.eval.every_epochs = 1;
  return config;
}

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

TEST(DetectionTraining, LearnsInLowPrecision) {
  Config config = boxes_config();
  config.train.steps = 1;
  const double exact = train(config).result.losses.front();
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    config.amp.level = level;
    EXPECT_NEAR(train(config).result.losses.front(), exact, 0.1 * exact) << enum_name(level);
  }
}

}  // namespace
}  // namespace ptrain

// A task whose model samples what is learnt, with five losses in training and none in evaluation.
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

Config masks_config() {
  Config config = resnet_config();
  config.model.entry = find_model("maskrcnn_tiny");
  config.model.classes = 3;
  config.data.image_size = 64;
  config.data.batch_size = 8;
  config.data.synthetic_samples = 64;
  config.train.steps = 8;
  config.train.optimizer.name = OptimizerKind::adamw;
  config.train.optimizer.lr = 0.002;
  config.eval.every_epochs = 1;
  return config;
}

TEST(InstanceSegmentationTraining, LearnsAndReportsItsLosses) {
  const RunResult result = train(masks_config()).result;
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

TEST(InstanceSegmentationTraining, SamplesAnewInEachStepAndAlikeInEachRun) {
  const RunResult one = train(masks_config()).result, other = train(masks_config()).result;
  EXPECT_EQ(one.losses, other.losses);
}

TEST(InstanceSegmentationTraining, KeepsBoxesExactInLowPrecision) {
  Config config = masks_config();
  config.train.steps = 1;
  const double exact = train(config).result.losses.front();
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    config.amp.level = level;
    EXPECT_NEAR(train(config).result.losses.front(), exact, 0.1 * exact) << enum_name(level);
  }
}

}  // namespace
}  // namespace ptrain

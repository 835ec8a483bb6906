// A task with a class for each pixel and two losses, trained through the same code as any other.
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

Config shapes_config() {
  Config config = resnet_config();
  config.model.entry = find_model("fcn_tiny");
  config.model.classes = 3;
  config.data.batch_size = 16;
  config.data.synthetic_samples = 128;
  config.train.steps = 24;
  config.train.optimizer.name = OptimizerKind::adamw;
  config.train.optimizer.lr = 0.01;
  config.eval.every_epochs = 3;
  return config;
}

TEST(SegmentationTraining, LearnsPixelsAndReportsBothLosses) {
  const RunResult result = train(shapes_config()).result;
  EXPECT_GT(get_value(result.evaluations.back(), "miou"), 0.7);
  ASSERT_EQ(result.loss_terms.size(), 2U);
  const TrainedTerm cross_entropy = result.loss_terms.at("cross_entropy"), other = result.loss_terms.at("auxiliary");
  EXPECT_EQ(result.loss_weights.at("auxiliary"), 0.5f);
  EXPECT_NEAR(cross_entropy.first + 0.5 * other.first, result.losses.front(), 1e-6);
  EXPECT_NEAR(cross_entropy.last + 0.5 * other.last, result.losses.back(), 1e-6);
}

TEST(SegmentationTraining, AddsUpTheLossesOfMicroBatches) {
  Config config = shapes_config();
  const RunResult whole = train(config).result;
  config.data.batch_size = 8;
  config.train.accumulate_steps = 2;
  const RunResult parts = train(config).result;
  EXPECT_NEAR(parts.loss_terms.at("auxiliary").first, whole.loss_terms.at("auxiliary").first, 1e-5);
}

TEST(SegmentationTraining, OneLossHasNoTerms) { EXPECT_TRUE(train(resnet_config()).result.loss_terms.empty()); }

}  // namespace
}  // namespace ptrain

// A run that stops and resumes ends exactly where the uninterrupted one does.
#include "core/train/state/snapshot.h"
#include "tests/error_message.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

TEST(Resume, ResNetWithAugmentationContinuesBitForBit) {
  Config config = resnet_config();
  config.data.augment = Augmentation::crop_flip;
  expect_resumes_exactly(config, 3, 10);  // across the end of an epoch of 8
}

TEST(Resume, BertWithDropoutAndScalerContinuesBitForBit) {
  Config config = bert_config();
  config.amp.level = AmpLevel::O2;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = 1e12;
  expect_resumes_exactly(config, 5, 20);
}

TEST(Resume, PackedTextWithDropoutContinuesBitForBit) {
  Config config = packed(bert_config());
  config.data.max_length = 32;
  config.train.accumulate_steps = 2;
  expect_resumes_exactly(config, 3, 6);
}

TEST(Resume, AccumulationWithBatchesLeftOverContinuesBitForBit) {
  Config config = bert_config();
  config.train.accumulate_steps = 3;  // 8 batches an epoch: two steps, two batches left over
  expect_resumes_exactly(config, 3, 6);
}

TEST(Resume, HasNothingToDoWhenAllStepsAreDone) {
  const TemporaryDirectory directory;
  Config config = saved_to(directory, bert_config());
  train(config);
  config.resume = "auto";
  const Outcome again = train(config);
  EXPECT_EQ(again.result.steps, 0);
  EXPECT_EQ(again.result.status, RunStatus::ok);
}

TEST(Resume, RefusesACheckpointOfAnotherModelOrOptimizer) {
  const TemporaryDirectory directory;
  Config config = saved_to(directory, bert_config());
  config.train.steps = 1;
  config.train.optimizer.name = OptimizerKind::momentum;
  config.resume = train(config).result.checkpoint;
  const auto message = [](const Config& other) { return get_error([&] { train(other); }); };
  Config adam = config;
  adam.train.optimizer.name = OptimizerKind::adamw;
  EXPECT_NE(message(adam).find("was made with train.optimizer.name \"momentum\""), std::string::npos) << message(adam);
  Config classes = config;
  classes.model.classes = 3;
  EXPECT_NE(message(classes).find("is a checkpoint of \"bert"), std::string::npos) << message(classes);
  EXPECT_NE(message(classes).find(config.resume), std::string::npos) << "names the file";
}

}  // namespace
}  // namespace ptrain

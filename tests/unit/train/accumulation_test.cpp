// Gradient accumulation over micro-batches of unequal size, and batches that an epoch does not fill.
#include "core/passes/optimizer.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ptrain {
namespace {

using namespace testing;

/// One step over 24 samples, in their order.
Config make_step(Config config, std::int64_t batch, std::int64_t micro_batches) {
  config.model.dropout = 0;
  config.data.synthetic_samples = 24;
  config.data.batch_size = batch;
  config.data.shuffle = false;
  config.data.drop_last = false;
  config.train.accumulate_steps = micro_batches;
  config.train.steps = 1;
  config.train.optimizer = {};
  config.train.optimizer.name = OptimizerKind::sgd;
  config.train.optimizer.lr = 0.5;
  return config;
}

void expect_same_step(const Config& whole, const Config& parts) {
  const Outcome one = train_and_save(whole), other = train_and_save(parts);
  EXPECT_NEAR(one.result.losses.at(0), other.result.losses.at(0), 1e-5);
  for (const auto& [name, bytes] : one.state) {
    if (name != flat::master && !is_running_statistic(name)) continue;
    std::vector<float> a(bytes.size() / sizeof(float)), b(a.size());
    std::memcpy(a.data(), bytes.data(), bytes.size());
    std::memcpy(b.data(), other.state.at(name).data(), bytes.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5) << name << " " << i;
  }
}

TEST(Accumulation, WeighsEverySampleAlike) {
  expect_same_step(make_step(bert_config(), 24, 1), make_step(bert_config(), 16, 2));
  expect_same_step(make_step(bert_config(), 24, 1), make_step(bert_config(), 5, 5));
}

TEST(Accumulation, WeighsByTheClassesWeights) {
  Config whole = make_step(bert_config(), 24, 1), parts = make_step(bert_config(), 7, 4);
  for (Config* config : {&whole, &parts}) config->data.class_weights.given = {0.2, 3};
  expect_same_step(whole, parts);
}

TEST(Accumulation, TrainsOnWhatIsLeftOverOfAnEpoch) {
  Config config = make_step(bert_config(), 4, 4);
  config.train.steps = 0;
  config.train.epochs = 3;
  const RunResult result = train(config).result;
  EXPECT_EQ(result.losses.size(), 6u);
  config.data.drop_last = true;
  EXPECT_EQ(train(config).result.losses.size(), 3u);
}

TEST(LastBatch, HasStatisticsOfItsOwnRowsAlone) {
  Config whole = make_step(resnet_config(), 6, 1), last = make_step(resnet_config(), 16, 1);
  for (Config* config : {&whole, &last}) config->data.synthetic_samples = 6;
  expect_same_step(whole, last);
}

}  // namespace
}  // namespace ptrain

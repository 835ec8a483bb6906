// The moving average of the weights: what it is, and that it alone is evaluated and exported.
#include "core/passes/optimizer.h"
#include "core/runtime/weights.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ptrain {
namespace {

using namespace testing;

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Config averaged(double decay) {
  Config config = bert_config();
  config.train.ema_decay = decay;
  return config;
}

/// What a checkpoint holds under `name` after `steps` steps.
std::vector<float> after(Config config, std::int64_t steps, const char* name) {
  config.train.steps = steps;
  return floats(train_and_save(config).state.at(name));
}

TEST(MovingAverage, FollowsTheParametersOfEveryStep) {
  const Config config = averaged(0.25);
  std::vector<float> expected = after(averaged(0), 1, flat::master), average = after(config, 1, flat::average);
  const auto decay = [](std::int64_t step) {
    return std::min(0.25f, static_cast<float>(1 + step) / static_cast<float>(10 + step));
  };
  // The first step starts from the initial weights.
  std::vector<float> start(average.size());
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = (average[i] - (1 - decay(1)) * expected[i]) / decay(1);
  expected = start;
  for (std::int64_t step = 1; step <= 3; ++step) {
    const std::vector<float> master = after(config, step, flat::master);
    EXPECT_EQ(master, after(averaged(0), step, flat::master)) << "training is as without";
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = decay(step) * expected[i] + (1 - decay(step)) * master[i];
    }
  }
  average = after(config, 3, flat::average);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(average[i], expected[i], 1e-6) << i;
}

TEST(MovingAverage, BeginsAsTheParameters) {
  Config config = averaged(0.9);
  config.train.optimizer.lr = 1e-30;
  const std::vector<float> average = after(config, 1, flat::average), master = after(config, 1, flat::master);
  for (std::size_t i = 0; i < master.size(); ++i) ASSERT_NEAR(average[i], master[i], 1e-20) << i;
}

TEST(MovingAverage, IsWhatIsEvaluatedAndExported) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
    Config config = averaged(0.999999999);
    config.amp.level = level;
    config.train.steps = 6;
    config.train.optimizer.lr = 0.01;
    config.eval.every_steps = 3;
    const TemporaryDirectory folder;
    const auto keep = [&](Trainer& trainer) { trainer.export_model(folder.path()); };
    const Outcome slow = train(config, keep);
    ASSERT_EQ(slow.result.evaluations.size(), 2u);
    Config plain = config;
    plain.train.ema_decay = 0;
    const Outcome fast = train(plain);
    EXPECT_GT(std::abs(fast.result.evaluations[1].loss.value() - slow.result.evaluations[1].loss.value()), 1e-4);
    EXPECT_EQ(slow.result.losses, fast.result.losses) << "and training continues from its own weights";
    plain.model.weights = (folder.path() / "model.safetensors").string();
    plain.train.steps = 1;
    plain.train.optimizer.lr = 1e-30;
    plain.eval.every_steps = 1;
    EXPECT_NEAR(train(plain).result.evaluations[0].loss.value(), slow.result.evaluations[1].loss.value(), 1e-5);
  }
}

TEST(MovingAverage, ContinuesBitForBit) {
  Config config = averaged(0.9);
  config.amp.level = AmpLevel::O2;
  config.eval.every_steps = 2;
  expect_resumes_exactly(config, 3, 8);
}

}  // namespace
}  // namespace ptrain

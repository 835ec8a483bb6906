// Values that backward computes again train the same weights, bit for bit, in less memory.
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

constexpr Recompute both[] = {Recompute::block, Recompute::selective};

/// BERT and GPT-2 with dropout, Llama, and ResNet with batch norms.
std::vector<Config> all_configs() {
  std::vector<Config> configs{bert_config(), gpt2_config(), gpt2_config(), resnet_config()};
  configs[2].model.entry = find_model("llama");
  for (Config& config : configs) config.train.steps = 3;
  return configs;
}

Config with(Config config, Recompute what) {
  config.train.recompute = what;
  return config;
}

void expect_same_training(const Config& config) {
  const Outcome kept = train_and_save(config);
  for (const Recompute what : both) {
    SCOPED_TRACE(config.model.entry.name + " " + std::string(enum_name(what)));
    const Outcome again = train_and_save(with(config, what));
    EXPECT_EQ(again.result.losses, kept.result.losses);
    expect_same_state(again, kept);
    EXPECT_LT(again.result.arena_bytes, kept.result.arena_bytes);
    EXPECT_DOUBLE_EQ(again.result.flops_per_sample, kept.result.flops_per_sample);
  }
}

TEST(RecomputeTraining, TrainsTheSameBitForBit) {
  for (const Config& config : all_configs()) expect_same_training(config);
}

TEST(RecomputeTraining, TrainsTheSameInLowPrecision) {
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    for (Config config : all_configs()) {
      config.amp.level = level;
      expect_same_training(config);
    }
  }
}

TEST(RecomputeTraining, TrainsTheSameWithoutFusionAndInMicroBatches) {
  for (Config config : all_configs()) {
    config.fusion = Fusion::off;
    config.train.accumulate_steps = 2;
    expect_same_training(config);
  }
}

/// Ranks exchange running statistics in backward, after the last norm that is computed again.
TEST(RecomputeTraining, TrainsTheSameOnRanks) {
  for (const Config& config : {bert_config(), resnet_config()}) {
    const std::vector<Outcome> kept = train_on_ranks(shared_out(config, 2), 2);
    for (const Recompute what : both) {
      const std::vector<Outcome> again = train_on_ranks(shared_out(with(config, what), 2), 2);
      EXPECT_EQ(again[0].result.losses, kept[0].result.losses);
    }
  }
}

TEST(RecomputeTraining, SaysWhereThereIsNothingToComputeAgain) {
  const std::vector<std::string> notes = train(with(clicks_config(), Recompute::selective)).notes;
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) { return note.starts_with("train.recompute:"); }));
  for (const std::string& note : train(with(bert_config(), Recompute::block)).notes) {
    EXPECT_FALSE(note.starts_with("train.recompute:")) << note;
  }
}

}  // namespace
}  // namespace ptrain

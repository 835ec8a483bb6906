// Trainings whose parameters are frozen, or have rates and decays of their own.
#include "core/passes/optimizer.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

GroupsConfig head_alone() { return {{"fc.*", "*"}, {true, false}, {}, {}}; }

bool is_of_head(const std::string& name) { return name.starts_with("fc."); }

/// Plain gradient descent by the rate 1: what a weight changes by is its gradient.
Config descent() {
  Config config = resnet_config();
  config.train.optimizer = {.name = OptimizerKind::sgd, .lr = 1, .weight_decay = 0};
  config.train.steps = 1;
  return config;
}

TEST(ParameterGroupsTraining, AFrozenBackboneStaysAndItsHeadLearnsAsInTheWholeModel) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
    SCOPED_TRACE(enum_name(level));
    Config config = descent();
    config.amp.level = level;
    const Weights whole = trained_weights(config);
    config.train.groups = head_alone();
    const Weights head = trained_weights(config);
    config.train.optimizer.lr = 0;
    const Weights start = trained_weights(config);
    for (const auto& [name, bytes] : start) {
      SCOPED_TRACE(name);
      if (is_of_head(name)) {
        EXPECT_TRUE(head.at(name) == whole.at(name)) << "the same gradient, bit for bit";
        EXPECT_FALSE(head.at(name) == bytes);
      } else {
        EXPECT_TRUE(head.at(name) == bytes) << "frozen, and statistics are of the same images";
      }
    }
    EXPECT_FALSE(whole.at("conv1.weight") == start.at("conv1.weight")) << "as it learns otherwise";
  }
}

TEST(ParameterGroupsTraining, FrozenNormsGoOnCountingStatistics) {
  Config config = descent();
  config.train.groups = head_alone();
  const Weights one = trained_weights(config);
  config.train.steps = 2;
  const Weights two = trained_weights(config);
  EXPECT_FALSE(one.at("bn1.running_mean") == two.at("bn1.running_mean"));
  EXPECT_TRUE(one.at("bn1.weight") == two.at("bn1.weight"));
}

TEST(ParameterGroupsTraining, FrozenParametersTakeNoMemoryForTraining) {
  Config config = resnet_config();
  config.train.steps = 1;
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
    config.amp.level = level;
    config.train.optimizer.name = OptimizerKind::adamw;
    config.train.groups = {};
    const RunResult whole = train(config).result;
    config.train.groups = head_alone();
    const RunResult head = train(config).result;
    EXPECT_LT(head.arena_bytes, whole.arena_bytes);
    EXPECT_LT(head.variable_bytes, whole.variable_bytes / 2) << "neither gradients nor moments";
  }
}

TEST(ParameterGroupsTraining, AScaledRateIsThatRate) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::lamb, OptimizerKind::lars,
                                   OptimizerKind::rmsprop, OptimizerKind::adagrad}) {
    SCOPED_TRACE(enum_name(kind));
    Config config = resnet_config();
    config.train.optimizer.name = kind;
    config.train.steps = 1;
    const Weights plain = trained_weights(config);
    config.train.groups = {{"fc.*"}, {}, {0.125}, {}};
    const Weights scaled = trained_weights(config);
    config.train.groups = {};
    config.train.optimizer.lr /= 8;
    const Weights lower = trained_weights(config);
    for (const auto& [name, bytes] : scaled) {
      EXPECT_TRUE(bytes == (is_of_head(name) ? lower : plain).at(name)) << name;
      if (is_of_head(name)) {
        EXPECT_FALSE(bytes == plain.at(name)) << name;
      }
    }
  }
}

TEST(ParameterGroupsTraining, AGroupsDecayTakesTheOptimizersPlace) {
  for (const OptimizerKind kind : {OptimizerKind::momentum, OptimizerKind::adamw, OptimizerKind::adam}) {
    SCOPED_TRACE(enum_name(kind));
    Config config = resnet_config();
    config.train.optimizer.name = kind;
    config.train.optimizer.weight_decay = 0.25;
    config.train.steps = 1;
    const Weights plain = trained_weights(config);
    config.train.groups = {{"layer1.*", "fc.*"}, {}, {}, {0.5, 0}};
    const Weights grouped = trained_weights(config);
    config.train.groups = {};
    config.train.optimizer.weight_decay = 0.5;
    const Weights more = trained_weights(config);
    config.train.optimizer.weight_decay = 0;
    const Weights none = trained_weights(config);
    for (const auto& [name, bytes] : grouped) {
      const Weights& expected = name.starts_with("layer1.") ? more : is_of_head(name) ? none : plain;
      EXPECT_TRUE(bytes == expected.at(name)) << name;
    }
    EXPECT_FALSE(more.at("layer1.0.conv1.weight") == plain.at("layer1.0.conv1.weight"));
  }
}

/// Half of a model frozen, and two rates.
Config in_groups(Config config) {
  config.train.groups = {{"fc.*", "layer4.*", "layer1.*", "*.conv*", "*"},
                         {true, true, false, false, true},
                         {2, 0.5, 1, 1, 1},
                         {0, 0.1, 0, 0, 0.01}};
  return config;
}

TEST(ParameterGroupsTraining, ContinueBitForBit) {
  Config config = in_groups(resnet_config());
  config.amp.level = AmpLevel::O2;
  config.train.clip_norm = 0.5;
  config.train.accumulate_steps = 2;
  config.train.ema_decay = 0.9;
  expect_resumes_exactly(config, 2, 4);
}

TEST(ParameterGroupsTraining, UpdatesMadeEarlyGiveTheSameBits) {
  Config config = in_groups(resnet_config());
  config.train.steps = 2;
  for (const OptimizerKind kind : {OptimizerKind::momentum, OptimizerKind::lamb, OptimizerKind::rmsprop}) {
    config.train.optimizer.name = kind;
    config.train.early_updates = Tristate::yes;
    const Outcome early = train_and_save(config);
    config.train.early_updates = Tristate::no;
    expect_same_state(early, train_and_save(config));
  }
}

TEST(ParameterGroupsTraining, AverageAndEvaluationAreOfAllParameters) {
  Config config = resnet_config();
  config.train.groups = head_alone();
  config.train.ema_decay = 0.5;
  const Weights averaged = trained_weights(config);
  config.train.ema_decay = 0;
  const Weights plain = trained_weights(config);
  EXPECT_TRUE(averaged.at("conv1.weight") == plain.at("conv1.weight")) << "what never moves is its own average";
  EXPECT_FALSE(averaged.at("fc.weight") == plain.at("fc.weight"));
}

TEST(ParameterGroupsTraining, RanksAgreeWithOne) {
  Config config = in_groups(resnet_config());
  config.dist.reproducible = true;
  config.train.accumulate_steps = 2;
  const std::vector<double> one = losses(config);
  config.train.accumulate_steps = 1;
  const std::vector<Outcome> two = train_on_ranks(config, 2);
  EXPECT_EQ(two[0].result.losses.size(), one.size());
  EXPECT_LT(difference(two[0].result.losses, one), 1e-3);
  EXPECT_EQ(two[0].result.losses, two[1].result.losses);
}

TEST(ParameterGroupsTraining, TablesCanBeFrozenAndScaled) {
  Config config = clicks_config();
  const std::string table = std::string(flat::table) + "deep.words.weight";
  config.train.groups = {{"deep.words.weight"}, {}, {0}, {}};
  config.train.steps = 1;
  const Outcome still = train_and_save(config);
  config.train.groups = {{"deep.words.weight"}, {false}, {}, {}};
  const Outcome frozen = train_and_save(config);
  EXPECT_TRUE(still.state.at(table) == frozen.state.at("deep.words.weight"));
  EXPECT_FALSE(frozen.state.contains(table)) << "nothing updates it by rows";
  EXPECT_EQ(still.result.losses, frozen.result.losses);
  config.train.groups = {};
  EXPECT_FALSE(train_and_save(config).state.at(table) == still.state.at(table));
}

}  // namespace
}  // namespace ptrain

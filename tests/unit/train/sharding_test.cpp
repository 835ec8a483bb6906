// dist.shard: ranks that keep a part of the optimizer state each train the same bits as ranks that keep all of it, and
// those that keep a part of the sums over micro-batches the same but for rounding.
#include "core/base/errors.h"
#include "core/config/config_enums.h"
#include "core/io/checkpoint.h"
#include "core/train/plans/memory_estimate.h"
#include "core/train/scaling.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace ptrain {
namespace {

using namespace testing;

/// Several buckets, and so several slices for each rank.
Config on_ranks(Config config) {
  config.data.batch_size = 2;
  config.data.synthetic_samples = 64;
  config.train.steps = 4;
  config.dist.bucket_mb = 1;
  return config;
}

Outcome train_saved(Config config, int world_size) {
  const TemporaryDirectory directory;
  return train_on_ranks(saved_to(directory, std::move(config)), world_size)[0];
}

void expect_same_sharded(Config config, std::initializer_list<int> world_sizes = {2, 3}) {
  for (const int world_size : world_sizes) {
    SCOPED_TRACE(fmt::format("{} ranks", world_size));
    config.dist.shard = Sharding::none;
    const Outcome whole = train_saved(config, world_size);
    config.dist.shard = Sharding::optimizer;
    const Outcome sharded = train_saved(config, world_size);
    EXPECT_EQ(sharded.result.losses, whole.result.losses);
    expect_same_state(sharded, whole);
    EXPECT_LT(sharded.result.variable_bytes, whole.result.variable_bytes);
  }
}

TEST(Sharding, TrainsTheSameBits) {
  for (Config config : {on_ranks(resnet_config()), on_ranks(bert_config())}) {
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
      SCOPED_TRACE(fmt::format("{} {}", config.model.entry.name, enum_name(level)));
      config.amp.level = level;
      expect_same_sharded(config);
      if (level == AmpLevel::O0) continue;
      config.eval.amp = level;  // nothing reads the fp32 weights whole
      expect_same_sharded(config);
      config.dist.average = GradAverage::gradient;
      expect_same_sharded(config, {2});
    }
  }
}

TEST(Sharding, ExportsTheSameWeights) {
  Config config = on_ranks(bert_config());
  config.amp.level = config.eval.amp = AmpLevel::O2;
  std::map<Sharding, Weights> exported;
  for (const Sharding sharding : {Sharding::none, Sharding::optimizer}) {
    const TemporaryDirectory directory;
    config.dist.shard = sharding;
    train_on_ranks(config, 2, [&](Trainer& trainer) { trainer.export_model(directory.path()); });
    exported[sharding] = read_weights(directory.path());
  }
  EXPECT_EQ(exported[Sharding::optimizer], exported[Sharding::none]);
}

TEST(Sharding, TrainsTheSameBitsWithEveryOptimizerOfSingleElements) {
  Config config = on_ranks(bert_config());
  config.train.optimizer.momentum = 0.9;
  config.train.optimizer.centered = true;
  for (const OptimizerKind kind :
       {OptimizerKind::momentum, OptimizerKind::adam, OptimizerKind::adagrad, OptimizerKind::rmsprop}) {
    SCOPED_TRACE(enum_name(kind));
    config.train.optimizer.name = kind;
    expect_same_sharded(config, {2});
  }
}

TEST(Sharding, TrainsTheSameBitsWithClippingAveragesGroupsAndMicroBatches) {
  Config config = on_ranks(bert_config());
  config.train.clip_norm = 0.1;
  config.train.ema_decay = 0.9;
  config.train.groups.match = {"*embeddings*", "*layer.0*"};
  config.train.groups.lr_scale = {0.5, 2};
  config.train.accumulate_steps = 2;
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
    SCOPED_TRACE(enum_name(level));
    config.amp.level = level;
    expect_same_sharded(config, {2});
  }
}

TEST(Sharding, SkipsTheStepsThatOverflow) {
  Config config = on_ranks(bert_config());
  config.amp.level = AmpLevel::O2;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = std::ldexp(1.0, 30);
  config.train.steps = 20;
  config.dist.shard = Sharding::optimizer;
  const Outcome sharded = train_saved(config, 2);
  EXPECT_GT(sharded.result.skipped_steps, 5);
  EXPECT_LT(sharded.result.skipped_steps, 20);
  config.dist.shard = Sharding::none;
  const Outcome whole = train_saved(config, 2);
  EXPECT_EQ(sharded.result.losses, whole.result.losses);
  expect_same_state(sharded, whole);
}

/// A checkpoint has no trace of the ranks that wrote it.
TEST(Sharding, ReproducibleTrainingResumesBitForBitOnAnyNumberOfRanks) {
  Config config = on_ranks(bert_config());
  config.amp.level = config.eval.amp = AmpLevel::O2;
  config.dist.reproducible = true;
  config.dist.shard = Sharding::optimizer;
  config.train.steps = 9;
  const auto with_ranks = [&](int world_size) {
    config.train.accumulate_steps = 4 / world_size;
    return config;
  };
  const Outcome whole = train_and_save(with_ranks(1));

  const TemporaryDirectory directory;
  config = saved_to(directory, config);
  config.resume = "auto";
  config.train.steps = 3;
  std::vector<double> losses = train_on_ranks(with_ranks(4), 4)[0].result.losses;
  const auto add = [&](const Outcome& outcome) {
    losses.insert(losses.end(), outcome.result.losses.begin(), outcome.result.losses.end());
  };
  config.train.steps = 5;
  add(train_on_ranks(with_ranks(2), 2)[0]);
  config.train.steps = 7;
  add(train(with_ranks(1)));
  config.train.steps = 9;
  const Outcome last = train_on_ranks(with_ranks(4), 4)[0];
  add(last);
  EXPECT_EQ(last.result.first_step, 7);
  EXPECT_EQ(losses, whole.result.losses);
  expect_same_state(last, whole);
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "step " << i + 1;
}

TEST(Sharding, OfSumsTrainsTheSameButForRounding) {
  for (Config config : {on_ranks(resnet_config()), on_ranks(bert_config())}) {
    config.train.accumulate_steps = 3;
    config.train.clip_norm = 0.1;
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
      SCOPED_TRACE(fmt::format("{} {}", config.model.entry.name, enum_name(level)));
      config.amp.level = config.eval.amp = level;
      for (const auto& [world_size, average] : {std::pair{2, GradAverage::fp32}, std::pair{3, GradAverage::gradient}}) {
        config.dist.average = average;
        config.dist.shard = Sharding::optimizer;
        const Outcome whole = train_saved(config, world_size);
        config.dist.shard = Sharding::gradients;
        const Outcome sharded = train_saved(config, world_size);
        expect_near(sharded.result.losses, whole.result.losses, level == AmpLevel::O0 ? 1e-4 : 1e-2);
        if (average == GradAverage::fp32) continue;  // copies of two buckets outweigh the sums of so small a network
        EXPECT_LT(sharded.result.variable_bytes, whole.result.variable_bytes);
      }
    }
  }
}

TEST(Sharding, OfSumsScalesLossesAndSkipsTheStepsThatOverflow) {
  Config config = on_ranks(bert_config());
  config.amp.level = config.eval.amp = AmpLevel::O2;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = std::ldexp(1.0, 30);
  config.train.steps = 20;
  config.train.accumulate_steps = 2;
  config.dist.shard = Sharding::gradients;
  const Outcome sharded = train_saved(config, 2);
  config.dist.shard = Sharding::none;
  const Outcome whole = train_saved(config, 2);
  EXPECT_GT(sharded.result.skipped_steps, 5);
  EXPECT_EQ(sharded.result.skipped_steps, whole.result.skipped_steps);
  expect_near(sharded.result.losses, whole.result.losses, 1e-2);
}

TEST(Sharding, OfSumsWithoutMicroBatchesIsThatOfTheOptimizer) {
  Config config = on_ranks(bert_config());
  config.amp.level = config.eval.amp = AmpLevel::O2;
  config.train.clip_norm = 0.1;
  config.dist.shard = Sharding::optimizer;
  const Outcome optimizer = train_saved(config, 2);
  config.dist.shard = Sharding::gradients;
  const Outcome gradients = train_saved(config, 2);
  EXPECT_EQ(gradients.result.losses, optimizer.result.losses);
  expect_same_state(gradients, optimizer);
}

/// Whatever divides the state, a run resumes bit for bit on as many ranks.
TEST(Sharding, OfSumsResumesBitForBit) {
  Config config = on_ranks(bert_config());
  config.amp.level = config.eval.amp = AmpLevel::O1;
  config.train.accumulate_steps = 2;
  config.train.clip_norm = 0.1;
  config.dist.shard = Sharding::gradients;
  const Outcome whole = train_saved(config, 3);

  const TemporaryDirectory directory;
  config = saved_to(directory, config);
  config.train.steps = 2;
  train_on_ranks(config, 3);
  config.resume = "auto";
  config.train.steps = 4;
  const Outcome second = train_on_ranks(config, 3)[0];
  EXPECT_EQ(second.result.first_step, 2);
  expect_same_state(second, whole);
}

TEST(Sharding, ACheckpointOfAnotherLayoutIsRefused) {
  const TemporaryDirectory directory;
  Config config = saved_to(directory, on_ranks(bert_config()));
  config.amp.level = AmpLevel::O1;
  const Checkpoint written = load_checkpoint(train(config).result.checkpoint);
  CheckpointInfo info = written.info();
  info.state.erase("layout");
  info.step += 1;
  save_checkpoint(directory.path(), info, written.tensors(), 1);
  config.resume = "auto";
  try {
    train(config);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is of another version of ptrain"), std::string::npos) << error.what();
  }
}

/// In bytes: bf16 and fp32 have 2 and 4, and AdamW keeps two moments.
TEST(Sharding, DividesAllButWhatForwardAndBackwardUse) {
  const auto backend = make_test_backend();
  Config config = on_ranks(bert_config());
  config.amp.level = config.eval.amp = AmpLevel::O2;
  config.train.accumulate_steps = 2;
  config.train.clip_norm = 1;
  const auto model = small_model(config, open_dataset(data_settings(config), Split::train)->info());
  const auto variables_with = [&](Sharding sharding, GradAverage average) {
    config.dist.shard = sharding;
    config.dist.average = average;
    const auto bytes = estimate_memory(step_options(config, *model, DType::bf16, 4), *model, {config.data.batch_size},
                                       backend->kernels())
                           .variables;
    return static_cast<double>(bytes) / static_cast<double>(parameter_count(*model));
  };
  const double slack = 0.6;  // parameters in fp32, alignment
  EXPECT_NEAR(variables_with(Sharding::none, GradAverage::gradient), 2 + 2 + 4 + 4 + 8, slack);
  EXPECT_NEAR(variables_with(Sharding::optimizer, GradAverage::gradient), 2 + 2 + 4 + (4 + 8) / 4.0, slack);
  EXPECT_NEAR(variables_with(Sharding::gradients, GradAverage::gradient), 2 + 2 + (4 + 4 + 8) / 4.0, slack);
}

/// Of what is exchanged in a step, in order of time: the sums that ranks keep slices of once for each micro-batch.
TEST(Sharding, OfSumsExchangesEveryMicroBatch) {
  Config config = on_ranks(bert_config());
  config.train.accumulate_steps = 3;
  const auto model = small_model(config, open_dataset(data_settings(config), Split::train)->info());
  const auto exchanged = [&](Sharding sharding) {
    config.dist.shard = sharding;
    const StepOptions options = step_options(config, *model, DType::bf16, 4);
    double bytes = 0, last = 0;
    for (const auto& event : divide_step(options, config.data.batch_size, *model, {3, 0, {}}).events) {
      EXPECT_GE(event.at, last);
      EXPECT_LE(event.at, 3 + 1e-9);
      last = event.at;
      bytes += event.bytes;
    }
    return bytes;
  };
  const double whole = exchanged(Sharding::optimizer);
  EXPECT_NEAR(exchanged(Sharding::gradients), whole / 2 * (3 + 1), 0.01 * whole) << "and parameters once";
}

TEST(Sharding, APredictedUpdateTakesARanksShareOfItsTime) {
  Config config = on_ranks(bert_config());
  const auto model = small_model(config, open_dataset(data_settings(config), Split::train)->info());
  const auto divided = [&](Sharding shard, int ranks) {
    config.dist.shard = shard;
    const StepOptions options = step_options(config, *model, DType::bf16, ranks);
    const std::string other = build_step(*model, options, config.data.batch_size).nodes().front().name;
    return divide_step(options, config.data.batch_size, *model, {3, 0, {{"optimizer", 1.0}, {other, 2.0}}});
  };
  EXPECT_DOUBLE_EQ(divided(Sharding::none, 4).seconds, 3);
  for (const int ranks : {2, 4}) EXPECT_NEAR(divided(Sharding::optimizer, ranks).seconds, 2 + 1.0 / ranks, 0.02);
}

TEST(Sharding, AShareOfTheOptimizerStateIsPlanned) {
  const auto backend = make_test_backend();
  Config config = on_ranks(bert_config());
  const auto model = small_model(config, open_dataset(data_settings(config), Split::train)->info());
  const auto estimate_for = [&](int world_size) {
    return estimate_memory(step_options(config, *model, DType::bf16, world_size), *model, {config.data.batch_size},
                           backend->kernels());
  };
  const MemoryEstimate whole = estimate_for(1);
  EXPECT_GE(whole.optimizer, 2 * 4 * parameter_count(*model)) << "two moments of a parameter";
  EXPECT_EQ(estimate_for(4).variables, whole.variables) << "each rank keeps all";
  config.dist.shard = Sharding::optimizer;
  for (const int world_size : {1, 2, 4}) {
    SCOPED_TRACE(fmt::format("{} ranks", world_size));
    const MemoryEstimate shard = estimate_for(world_size);
    EXPECT_EQ(shard.optimizer, whole.optimizer / world_size);
    EXPECT_EQ(shard.variables, whole.variables - whole.optimizer + shard.optimizer);
    for (const Outcome& outcome : train_on_ranks(config, world_size)) {
      EXPECT_EQ(outcome.result.optimizer_bytes, shard.optimizer);
      EXPECT_EQ(outcome.result.variable_bytes, shard.variables);
    }
  }
}

}  // namespace
}  // namespace ptrain

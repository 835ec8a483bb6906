// Whole training steps on tiny models: they learn, they repeat, and switches that must not matter do not.
#include "core/config/config_enums.h"
#include "core/train/input/image_decoders.h"
#include "tests/error_message.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace {

using namespace testing;

void expect_learns(Config config, std::int64_t steps) {
  config.train.steps = steps;
  const RunResult result = train(config).result;
  EXPECT_EQ(result.status, RunStatus::ok) << result.message;
  ASSERT_EQ(static_cast<std::int64_t>(result.losses.size()), steps);
  const std::span all(result.losses);
  EXPECT_LT(mean(all.last(8)), 0.8 * mean(all.first(8)));
}

TEST(Training, ResNetLearnsSyntheticImages) { expect_learns(resnet_config(), 40); }

TEST(Training, BertLearnsSyntheticText) {
  Config config = bert_config();
  config.data.batch_size = 16;
  expect_learns(config, 64);
}

TEST(Training, BertLearnsAtEveryPrecision) {
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    for (const AmpDType dtype : {AmpDType::bf16, AmpDType::fp16}) {
      SCOPED_TRACE(std::string(enum_name(level)) + " " + std::string(enum_name(dtype)));
      Config config = bert_config();
      config.data.batch_size = 16;
      config.amp.level = level;
      config.amp.dtype = dtype;
      expect_learns(config, 64);
    }
  }
}

TEST(Training, ResNetLearnsInBf16AndFp16) {
  for (const AmpDType dtype : {AmpDType::bf16, AmpDType::fp16}) {
    Config config = resnet_config();
    config.amp.level = AmpLevel::O2;
    config.amp.dtype = dtype;
    expect_learns(config, 40);
  }
}

TEST(Training, AmpFollowsFp32AtFirst) {
  for (Config config : {resnet_config(), bert_config()}) {
    config.train.steps = 2;
    const std::vector<double> fp32 = losses(config);
    for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
      config.amp.level = level;
      EXPECT_LT(difference(losses(config), fp32), 0.05) << config.model.entry.name;
    }
  }
}

TEST(Training, TheSameSeedGivesTheSameLosses) {
  for (Config config : {resnet_config(), bert_config()}) {
    const std::vector<double> first = losses(config);
    EXPECT_EQ(losses(config), first) << config.model.entry.name;
    config.seed = 43;
    EXPECT_NE(losses(config), first) << config.model.entry.name;
  }
}

TEST(Training, WorkersDoNotChangeTheLosses) {
  Config config = resnet_config();
  config.data.augment = Augmentation::crop_flip;
  const std::vector<double> alone = losses(config);
  config.data.workers = 2;
  EXPECT_EQ(losses(config), alone);
}

TEST(Training, TheMemoryPlanDoesNotChangeTheLosses) {
  for (Config config : {resnet_config(), bert_config()}) {
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
      config.amp.level = level;
      config.memory_plan = true;
      const RunResult on = train(config).result;
      config.memory_plan = false;
      const RunResult off = train(config).result;
      EXPECT_EQ(on.losses, off.losses) << config.model.entry.name << " " << enum_name(level);
      EXPECT_LT(on.arena_bytes, off.arena_bytes);
    }
  }
}

TEST(Training, UpdatesMadeEarlyGiveTheSameBits) {
  Config config = resnet_config();
  config.train.steps = 2;
  for (const auto& [kind, level] : {std::pair{OptimizerKind::sgd, AmpLevel::O0},
                                    {OptimizerKind::momentum, AmpLevel::O2},
                                    {OptimizerKind::adamw, AmpLevel::O0},
                                    {OptimizerKind::adamw, AmpLevel::O2},
                                    {OptimizerKind::lars, AmpLevel::O0},
                                    {OptimizerKind::lamb, AmpLevel::O0}}) {
    SCOPED_TRACE(fmt::format("{} {}", enum_name(kind), enum_name(level)));
    config.train.optimizer.name = kind;
    config.amp.level = level;
    config.train.early_updates = Tristate::yes;
    const Outcome early = train_and_save(config);
    config.train.early_updates = Tristate::no;
    const Outcome late = train_and_save(config);
    expect_same_state(early, late);
    EXPECT_LT(early.result.variable_bytes, late.result.variable_bytes);
  }
}

TEST(Training, TimesOfOpsAddUpToTheSteps) { expect_ops_add_up(resnet_config()); }

TEST(Training, FusionChangesTheLossesWithinRounding) {
  for (Config config : {resnet_config(), bert_config()}) {
    const std::vector<double> fused = losses(config);
    config.fusion = Fusion::off;
    EXPECT_LT(difference(losses(config), fused), 1e-3) << config.model.entry.name;
  }
}

TEST(Training, NormsInConvolutionsChangeTheLossesWithinRounding) {
  Config config = resnet_config();
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1}) {
    config.amp.level = level;
    config.fusion = Fusion::full;
    const std::vector<double> apart = losses(config);
    config.fusion = Fusion::always;
    EXPECT_LT(difference(losses(config), apart), level == AmpLevel::O0 ? 1e-3 : 2e-2) << enum_name(level);
  }
}

TEST(Training, TwoBatchesOfFourAccumulatedAreOneOfEight) {
  Config config = bert_config();
  config.model.dropout = 0;
  config.data.shuffle = false;
  config.train.optimizer.name = OptimizerKind::momentum;
  config.train.optimizer.lr = 0.05;
  config.data.batch_size = 8;
  const std::vector<double> whole = losses(config);
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
    config.amp.level = level;
    config.data.batch_size = 4;
    config.train.accumulate_steps = 2;
    EXPECT_LT(difference(losses(config), whole), level == AmpLevel::O0 ? 1e-5 : 2e-2) << enum_name(level);
  }
}

TEST(Training, ClippingBoundsTheChangeOfAStep) {
  Config config = bert_config();
  config.model.dropout = 0;
  config.train.optimizer.name = OptimizerKind::sgd;
  config.train.optimizer.lr = 1.0;
  config.train.optimizer.weight_decay = 0;
  config.train.clip_norm = 1e-3;
  const auto weights_after = [&config](std::int64_t steps) {
    config.train.steps = steps;
    return train_and_save(config).state.at(flat::master);
  };
  const std::vector<std::byte> one = weights_after(1), two = weights_after(2);
  double squares = 0;
  for (std::size_t i = 0; i < one.size(); i += sizeof(float)) {
    float a, b;
    std::memcpy(&a, one.data() + i, sizeof a);
    std::memcpy(&b, two.data() + i, sizeof b);
    squares += static_cast<double>(a - b) * static_cast<double>(a - b);
  }
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 2e-5) << "the step has the clipped norm";
}

TEST(Training, OverflowSkipsTheStepAndHalvesTheScale) {
  Config config = bert_config();
  config.amp.level = AmpLevel::O1;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = std::ldexp(1.0, 40);
  config.train.steps = 40;
  const RunResult result = train(config).result;
  EXPECT_EQ(result.status, RunStatus::ok) << result.message;
  EXPECT_GT(result.skipped_steps, 10);
  EXPECT_LT(result.skipped_steps, 40);
  ASSERT_GT(result.scale_history.size(), 10u);
  EXPECT_EQ(result.scale_history.front().scale, std::ldexp(1.0, 39));
  for (std::size_t i = 1; i < result.scale_history.size(); ++i) {
    EXPECT_EQ(result.scale_history[i].scale, result.scale_history[i - 1].scale / 2);
    EXPECT_EQ(result.scale_history[i].step, result.scale_history[i - 1].step + 1);
  }
}

TEST(Training, ASkippedStepLeavesWeightsAndMomentsAlone) {
  Config config = bert_config();
  config.amp.level = AmpLevel::O2;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = std::ldexp(1.0, 60);
  const auto state_after = [&config](std::int64_t steps) {
    config.train.steps = steps;
    return train_and_save(config).state;
  };
  const auto one = state_after(1), three = state_after(3);
  for (const char* name : {flat::master, flat::low, flat::moment1, flat::moment2, flat::updates}) {
    EXPECT_EQ(one.at(name), three.at(name)) << name;
  }
  EXPECT_NE(one.at(loss_scale_state), three.at(loss_scale_state));
}

TEST(Training, EndsAsDivergedWhenTheLossIsNotFinite) {
  Config config = resnet_config();
  config.train.optimizer.lr = 1e30;
  config.train.steps = 20;
  const RunResult result = train(config).result;
  EXPECT_EQ(result.status, RunStatus::diverged);
  EXPECT_LT(result.steps, 20);
  EXPECT_FALSE(std::isfinite(result.losses.back()));
  EXPECT_NE(result.message.find("diverged"), std::string::npos);
}

TEST(Training, EvaluatesTheTrainedWeightsAtEveryPrecision) {
  Config config = bert_config();
  config.train.steps = 16;
  config.train.optimizer.lr = 1e-3;
  config.eval.every_epochs = 100;
  double loss = 0;
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
    config.eval.amp = level;
    const RunResult result = train(config).result;
    ASSERT_EQ(result.evaluations.size(), 1u);
    EXPECT_EQ(result.evaluations[0].evaluation.eval_samples, 8);
    EXPECT_EQ(result.evaluations[0].step, 16);
    if (level == AmpLevel::O0) loss = result.evaluations[0].loss.value();
    EXPECT_NEAR(result.evaluations[0].loss.value(), loss, 0.02 * loss) << enum_name(level);
  }
}

TEST(Training, EvaluatesNoMoreSamplesThanAsked) {
  Config config = resnet_config();
  config.train.steps = 1;
  config.eval.every_epochs = 1;
  config.eval.max_samples = 6;
  EXPECT_EQ(train(config).result.evaluations.at(0).evaluation.eval_samples, 6);
}

TEST(Training, DecodesOnNoDeviceThatCannot) {
  DataConfig data;
  data.decoder = Decoder::gpu;
  const auto backend = make_test_backend();
  EXPECT_FALSE(image_decoders(data, *backend, Ranks(nullptr)));  // not read: no images are encoded
  data.source = "image_folder";
  EXPECT_EQ(get_error([&] { image_decoders(data, *backend, Ranks(nullptr)); }, ExitCode::usage),
            "data.decoder: expected cpu or auto, got gpu: device cpu cannot decode images, device cuda is required");
}

}  // namespace
}  // namespace ptrain

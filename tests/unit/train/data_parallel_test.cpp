// Several ranks train what one rank trains on the same samples.
#include "tests/unit/train/data_parallel.h"
#include "core/config/config_enums.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace {

using namespace testing;

/// Global batch 8, 20 steps.
Config for_ranks(Config config) {
  config.data.batch_size = 8;
  config.data.synthetic_samples = 64;
  config.train.steps = 20;
  config.dist.bucket_mb = 1;
  return config;
}

Config resnet_on_ranks() {
  Config config = for_ranks(resnet_config());
  config.train.optimizer.lr = 1e-3;
  config.dist.sync_batch_norm = true;
  return config;
}

Config bert_on_ranks() { return for_ranks(bert_config()); }

std::vector<double> losses_on_ranks(const Config& config, int world_size) {
  const std::vector<Outcome> outcomes = train_on_ranks(shared_out(config, world_size), world_size);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.result.losses, outcomes[0].result.losses);
  return outcomes[0].result.losses;
}

TEST(DataParallel, LossesOfResNetAreThoseOfOneRank) {
  Config config = resnet_on_ranks();
  const std::vector<double> one = losses(config);
  for (const int world_size : {1, 2, 4}) {
    EXPECT_LT(difference(losses_on_ranks(config, world_size), one), 1e-5) << world_size << " ranks";
  }
}

TEST(DataParallel, LossesOfBertWithDropoutAreThoseOfOneRank) {
  const Config config = bert_on_ranks();
  const std::vector<double> one = losses(config);
  for (const int world_size : {1, 2, 4}) {
    EXPECT_LT(difference(losses_on_ranks(config, world_size), one), 1e-5) << world_size << " ranks";
  }
}

TEST(DataParallel, LossesInLowPrecisionFollowThoseOfOneRank) {
  for (Config config : {resnet_on_ranks(), bert_on_ranks()}) {
    for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
      for (const GradAverage average : {GradAverage::fp32, GradAverage::gradient}) {
        SCOPED_TRACE(fmt::format("{} {} {}", config.model.entry.name, enum_name(level), enum_name(average)));
        config.amp.level = level;
        config.dist.average = average;
        config.train.steps = 6;
        EXPECT_LT(difference(losses_on_ranks(config, 2), losses(config)), 2e-2);
      }
    }
  }
}

/// The same micro-batches, added in the same order: every bit is the same, dropout masks included, in low precision
/// too.
TEST(DataParallel, ReproducibleLossesDoNotDependOnTheNumberOfRanks) {
  for (Config config : {resnet_on_ranks(), bert_on_ranks()}) {
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
      config.amp.level = level;
      config.data.batch_size = 2;
      config.train.steps = 6;
      config.dist.sync_batch_norm = false;
      config.dist.reproducible = true;
      Config alone = config;
      alone.train.accumulate_steps = 4;
      const std::vector<double> one = losses(alone);
      for (const int world_size : {2, 4}) {
        SCOPED_TRACE(fmt::format("{} {}, {} ranks", config.model.entry.name, enum_name(level), world_size));
        config.train.accumulate_steps = 4 / world_size;
        EXPECT_EQ(train_on_ranks(config, world_size)[0].result.losses, one);
      }
    }
  }
}

TEST(DataParallel, ReproducibleLossesAreThoseOfOneRankForNumbersThatAreNoPowersOfTwo) {
  Config config = bert_on_ranks();
  config.data.batch_size = 1;
  config.train.steps = 8;
  config.dist.reproducible = true;
  Config alone = config;
  alone.train.accumulate_steps = 6;
  const std::vector<double> one = losses(alone);
  for (const int world_size : {2, 3, 6}) {
    config.train.accumulate_steps = 6 / world_size;
    EXPECT_LT(difference(train_on_ranks(config, world_size)[0].result.losses, one), 1e-14) << world_size << " ranks";
  }
}

TEST(DataParallel, AccumulationOnRanksIsOneBatch) {
  Config config = bert_on_ranks();
  config.train.steps = 8;
  const std::vector<double> one = losses(config);
  config.train.accumulate_steps = 2;
  config.data.batch_size = 4;
  EXPECT_LT(difference(losses_on_ranks(config, 2), one), 1e-5);
}

TEST(DataParallel, ClippingSeesTheMeanGradient) {
  Config config = bert_on_ranks();
  config.train.steps = 8;
  config.train.optimizer.name = OptimizerKind::sgd;
  config.train.optimizer.lr = 0.5;
  config.train.clip_norm = 0.1;
  EXPECT_LT(difference(losses_on_ranks(config, 4), losses(config)), 1e-5);
}

TEST(DataParallel, OverflowSkipsTheStepOnEveryRank) {
  Config config = bert_on_ranks();
  config.amp.level = AmpLevel::O1;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = std::ldexp(1.0, 40);
  const std::vector<Outcome> outcomes = train_on_ranks(shared_out(config, 2), 2);
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result.status, RunStatus::ok);
    EXPECT_GT(outcome.result.skipped_steps, 5);
    EXPECT_EQ(outcome.result.skipped_steps, outcomes[0].result.skipped_steps);
  }
}

TEST(DataParallel, RanksKeepTheSameModelWithTheirOwnBatchStatistics) {
  const TemporaryDirectory directory;
  Config config = saved_to(directory, resnet_on_ranks());  // which checks that the ranks' parameters are equal
  config.dist.sync_batch_norm = false;
  config.train.steps = 3;
  config.eval.every_epochs = 1;
  const std::vector<Outcome> outcomes = train_on_ranks(shared_out(config, 2), 2);
  ASSERT_EQ(outcomes[1].result.evaluations.size(), 1u);
  EXPECT_EQ(outcomes[0].result.evaluations[0].evaluation.eval_samples, 16);
  EXPECT_EQ(get_value(outcomes[0].result.evaluations[0], "top1"), get_value(outcomes[1].result.evaluations[0], "top1"));
  EXPECT_TRUE(outcomes[1].result.checkpoint.empty()) << "rank 0 alone writes";
}

TEST(DataParallel, EvaluationCountsEverySampleOnce) {
  Config config = bert_on_ranks();
  config.train.steps = 1;
  config.eval.every_epochs = 1;
  config.data.synthetic_samples = 4 * 13;  // 13 samples to evaluate, for no world size a whole number of batches
  const EvalResult one = train(config).result.evaluations.at(0);
  EXPECT_EQ(one.evaluation.eval_samples, 13);
  for (const int world_size : {2, 4}) {
    for (const Outcome& outcome : train_on_ranks(shared_out(config, world_size), world_size)) {
      const EvalResult& many = outcome.result.evaluations.at(0);
      EXPECT_EQ(many.evaluation.eval_samples, one.evaluation.eval_samples);
      EXPECT_EQ(get_value(many, "top1"), get_value(one, "top1"));
      EXPECT_EQ(get_value(many, "majority"), 7.0 / 13);  // synthetic labels take turns
      EXPECT_EQ(get_value(many, "mcc"), get_value(one, "mcc"));
      EXPECT_EQ(get_value(many, "auc"), get_value(one, "auc"));
      EXPECT_EQ(write_fields(many.classes.value()), write_fields(one.classes.value()));
      EXPECT_NEAR(many.loss.value(), one.loss.value(), 1e-6);
    }
  }
}

TEST(DataParallel, ResumesAtAnotherWorldSize) {
  for (Config config : {resnet_on_ranks(), bert_on_ranks()}) {
    const std::vector<double> whole = losses(config);
    const TemporaryDirectory directory;
    config = saved_to(directory, config);
    config.train.steps = 7;
    train_on_ranks(shared_out(config, 4), 4);
    config.resume = "auto";
    config.train.steps = 12;
    EXPECT_EQ(train_on_ranks(shared_out(config, 2), 2)[1].result.first_step, 7);
    config.train.steps = 20;
    const std::vector<double> rest = train(config).result.losses;
    EXPECT_LT(difference(rest, {whole.begin() + 12, whole.end()}), 1e-5) << config.model.entry.name;
  }
}

TEST(DataParallel, ReportsEachRankAndTheExchange) {
  Config config = resnet_on_ranks();
  config.train.measure_after_steps = 5;
  const RunResult result = train_on_ranks(shared_out(config, 2), 2)[0].result;
  ASSERT_EQ(result.ranks.size(), 2u);
  EXPECT_EQ(result.samples, 15 * 8);
  for (const RankTotals& rank : result.ranks) {
    EXPECT_EQ(rank.samples, 15 * 4);
    EXPECT_GT(rank.compute_seconds, 0);
    EXPECT_LE(rank.waited_seconds, rank.compute_seconds);
  }
  ASSERT_TRUE(result.exchanged);
  EXPECT_EQ(result.exchanged->steps, 15);
  // With half its channels a ResNet-18 has 2.8 million parameters; synchronised batch norms exchange a little more.
  EXPECT_NEAR(result.exchanged->times.bytes / 15, 11.2e6, 0.3e6);
  EXPECT_GT(result.exchanged->times.transfer_seconds, 0);
  EXPECT_LE(result.exchanged->times.exposed_seconds, result.exchanged->times.transfer_seconds);
}

TEST(DataParallel, RefusesUnequalPartsOfAnEpochsLastBatch) {
  Config config = bert_on_ranks();
  config.data.drop_last = false;
  EXPECT_THROW(train_on_ranks(shared_out(config, 2), 2), Error);
}

}  // namespace
}  // namespace ptrain

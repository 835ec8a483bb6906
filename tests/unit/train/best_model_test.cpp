// The best model of a run is kept, and a run ends where nothing gets better or its time is over.
#include "core/train/state/best_model.h"
#include "core/runtime/model_artifact.h"
#include "tests/error_message.h"
#include "tests/unit/train/data_parallel.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

namespace ptrain {
namespace {

using namespace testing;

namespace fs = std::filesystem;

EvalResult evaluated(std::int64_t step, double top1, double loss) {
  EvalResult result;
  result.step = step;
  result.loss = loss;
  MetricValue right, mean_loss;
  right.name = "top1";
  right.value = top1;
  static_cast<MetricInfo&>(mean_loss) = loss_info();
  mean_loss.value = loss;
  result.evaluation.metrics = {right, mean_loss};
  return result;
}

/// Evaluated every second of 12 steps.
Config watched(const TemporaryDirectory& directory, const std::string& metric) {
  Config config = saved_to(directory, bert_config());
  config.train.steps = 12;
  config.eval.every_epochs = 0;
  config.eval.every_steps = 2;
  config.output.keep_best = metric;
  return config;
}

TEST(BestModel, IsTheHighestOfAMetricAndTheLowestLoss) {
  BestModel accurate("top1", 0, "runs/x/best");
  EXPECT_FALSE(accurate.record());
  EXPECT_TRUE(accurate.add(evaluated(10, 0.5, 1.0)));
  EXPECT_FALSE(accurate.add(evaluated(20, 0.5, 0.1))) << "as good is not better";
  EXPECT_FALSE(accurate.add(evaluated(30, std::numeric_limits<double>::quiet_NaN(), 0.1)));
  EXPECT_TRUE(accurate.add(evaluated(40, 0.6, 9.0)));
  EXPECT_EQ(accurate.record()->step, 40);
  EXPECT_EQ(accurate.record()->folder, "runs/x/best");
  BestModel low("loss", 0, "");
  EXPECT_TRUE(low.add(evaluated(10, 0.5, 1.0)));
  EXPECT_FALSE(low.add(evaluated(20, 0.9, 1.5)));
  EXPECT_TRUE(low.add(evaluated(30, 0.1, 0.5)));
}

TEST(BestModel, RunsOutOfPatienceAndComesBackFromItsState) {
  BestModel best("top1", 2, "");
  best.add(evaluated(1, 0.5, 1));
  best.add(evaluated(2, 0.4, 1));
  EXPECT_FALSE(best.out_of_patience());
  BestModel resumed("top1", 2, "");
  resumed.restore(best.state());
  EXPECT_EQ(resumed.record()->value, 0.5);
  EXPECT_FALSE(resumed.add(evaluated(3, 0.45, 1)));
  EXPECT_TRUE(resumed.out_of_patience());
  EXPECT_TRUE(resumed.add(evaluated(4, 0.7, 1)));
  EXPECT_FALSE(resumed.out_of_patience());
}

TEST(BestModel, IsThatOfItsStepAndCanBeDeployed) {
  const TemporaryDirectory directory;
  Config config = watched(directory, "loss");
  config.train.optimizer.lr = 0.02;  // too much: the loss does not fall all the time
  config.output.checkpoint_every_steps = 2;
  config.output.keep_checkpoints = 10;
  const Outcome outcome = train(config);
  ASSERT_EQ(outcome.result.evaluations.size(), 6u) << "of 12 steps, every second";
  ASSERT_TRUE(outcome.result.best);
  for (const EvalResult& result : outcome.result.evaluations)
    EXPECT_GE(result.loss.value(), outcome.result.best->value);
  const ModelArtifact kept = open_trained_model(fs::path(config.output.dir) / "best", model_entries());
  EXPECT_EQ(kept.document.model, "bert");
  config.model.weights = kept.weights().file.string();
  config.output.dir += "/again";
  config.output.keep_best = "none";
  config.train.steps = 1;
  config.train.optimizer.lr = 1e-30;
  config.eval.every_steps = 1;
  const EvalResult again = train(config).result.evaluations.back();
  EXPECT_NEAR(again.loss.value(), outcome.result.best->value, 1e-6);
}

TEST(BestModel, EndsATrainingThatGetsNoBetter) {
  const TemporaryDirectory directory;
  Config config = watched(directory, "top1");
  config.train.optimizer.lr = 1e-30;
  config.train.patience = 2;
  const Outcome outcome = train(config);
  EXPECT_EQ(outcome.result.status, RunStatus::ok);
  EXPECT_EQ(outcome.result.steps, 6) << "the first evaluation and two that are no better";
  EXPECT_EQ(outcome.result.evaluations.size(), 3u) << "the last is not repeated";
  EXPECT_NE(outcome.result.ended_early.find("ended after step 6 of 12: 2 evaluations without a top1 better than"),
            std::string::npos)
      << outcome.result.ended_early;
  config.resume = "auto";
  const Outcome resumed = train(config);
  EXPECT_EQ(resumed.result.first_step, 6);
  EXPECT_EQ(resumed.result.steps, 0) << "its patience is over still";
  EXPECT_EQ(resumed.result.best->step, 2);
}

TEST(BestModel, OutlastsACut) {
  const TemporaryDirectory directory, whole_directory;
  Config config = watched(directory, "loss");
  const Outcome whole = train(watched(whole_directory, "loss"));
  config.train.steps = 5;
  train(config);
  config.train.steps = 12;
  config.resume = "auto";
  const Outcome rest = train(config);
  EXPECT_EQ(rest.result.best->value, whole.result.best->value);
  EXPECT_EQ(rest.result.best->step, whole.result.best->step);
}

TEST(BestModel, TimeEndsATrainingInOrder) {
  const TemporaryDirectory directory;
  Config config = watched(directory, "none");
  config.train.time_limit_seconds = 1e-9;
  const Outcome outcome = train(config);
  EXPECT_EQ(outcome.result.status, RunStatus::ok);
  EXPECT_EQ(outcome.result.steps, 1);
  EXPECT_EQ(outcome.result.ended_early, "ended after step 1 of 12: train.time_limit_seconds 1e-09 have passed");
  ASSERT_EQ(outcome.result.evaluations.size(), 1u);
  config.resume = "auto";
  config.train.time_limit_seconds = 0;
  EXPECT_EQ(train(config).result.steps, 11);
}

TEST(Target, EndsATrainingThatReachesIt) {
  const TemporaryDirectory directory;
  Config config = watched(directory, "none");
  config.train.target = 100;
  config.train.target_metric = "loss";
  const Outcome reached = train(config);
  EXPECT_EQ(reached.result.steps, 2) << "any loss is below it";
  ASSERT_TRUE(reached.result.target && reached.result.target->seconds);
  EXPECT_EQ(reached.result.target->step, 2);
  EXPECT_EQ(reached.result.target->epochs, 0.25);
  EXPECT_EQ(reached.result.ended_early.find("ended: loss "), 0u) << reached.result.ended_early;
  config.train.target = 1e-9;
  config.resume = "auto";
  config.train.steps = 4;
  const Outcome missed = train(config);
  EXPECT_EQ(missed.result.steps, 2);
  ASSERT_TRUE(missed.result.target);
  EXPECT_FALSE(missed.result.target->seconds);
  EXPECT_EQ(missed.result.target->step, 4);
}

TEST(Target, ReachedBeforeTheCheckpointKeepsItsTime) {
  const TemporaryDirectory directory;
  Config config = watched(directory, "none");
  config.train.target = 100;
  config.train.target_metric = "loss";
  const Outcome reached = train(config);
  config.resume = "auto";
  const Outcome resumed = train(config);
  EXPECT_EQ(resumed.result.steps, 0);
  ASSERT_TRUE(resumed.result.target && resumed.result.target->seconds);
  EXPECT_EQ(*resumed.result.target->seconds, *reached.result.target->seconds);
  EXPECT_EQ(resumed.result.target->step, reached.result.target->step);
}

TEST(Target, CountsTheTimeOfTheRunsThatItGoesOnFrom) {
  const TemporaryDirectory directory;
  Config config = watched(directory, "none");
  config.train.steps = 6;
  config.train.target = 1e-9;
  config.train.target_metric = "loss";
  train(config);
  config.resume = "auto";
  config.train.steps = 8;
  config.train.target = 100;
  const Outcome rest = train(config);
  EXPECT_GT(rest.result.earlier_seconds, 0);
  EXPECT_GT(*rest.result.target->seconds, rest.result.earlier_seconds);
}

TEST(BestModel, EndsAllRanksAtOneStep) {
  const TemporaryDirectory directory;
  Config config = watched(directory, "top1");
  config.data.batch_size = 2;
  config.train.optimizer.lr = 1e-30;
  config.train.patience = 1;
  const std::vector<Outcome> outcomes = train_on_ranks(config, 2);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.result.steps, 4);
  config.train.patience = 0;
  config.train.time_limit_seconds = 1e-9;
  config.output.fresh = true;
  for (const Outcome& outcome : train_on_ranks(config, 2)) EXPECT_EQ(outcome.result.steps, 1);
}

}  // namespace
}  // namespace ptrain

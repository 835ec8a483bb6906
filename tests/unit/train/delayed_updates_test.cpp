// dist.updates: delayed: a step's gradients are applied at the end of the next one.
#include "core/config/config_enums.h"
#include "tests/error_message.h"
#include "tests/unit/train/data_parallel.h"
#include "tests/unit/train/table_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

namespace ptrain {
namespace delayed_updates_test {

using namespace testing;

constexpr double rounding = 2e-5;

static Config delayed(Config config) {
  config.dist.updates = UpdateTiming::delayed;
  return config;
}

/// SGD, by which an update is the sum of its gradients', in the order of the data.
static Config plain(Config config) {
  config.data.batch_size = 8;
  config.data.shuffle = false;
  config.train.optimizer.name = OptimizerKind::sgd;
  config.train.optimizer.lr = 0.05;
  config.train.optimizer.weight_decay = 0;
  config.train.schedule.name = ScheduleKind::constant;
  config.model.dropout = 0;
  return config;
}

static Config plain_clicks() {
  Config config = plain(clicks_config());
  config.model.hash_buckets = 501;
  config.dist.tables = TablePlacement::rows;
  return config;
}

/// With a table that grows, in whose rows rare keys give way.
static Config growing(Config config) {
  config.model.hash_buckets = 600;
  config.model.dynamic_table = true;
  config.train.tables = {.sweep_every_steps = 2, .decay = 0.5, .evict_below = 0.6, .folder = ""};
  return config;
}

/// With keys that get a row at their second occurrence.
static Config admitting(Config config) {
  config.model.admit_after = 2;
  return config;
}

static std::vector<double> train_losses(const Config& config, int world_size) {
  return train_on_ranks(shared_out(config, world_size), world_size)[0].result.losses;
}

static double at(const std::vector<double>& losses, std::size_t step) { return losses.at(step); }

/// The loss of step 1 is one of the first weights; that of step 2 knows the gradients of step 0 alone.
static void expect_lacks_one_step(Config config, int world_size) {
  SCOPED_TRACE(fmt::format("{}, {} ranks", config.model.entry.name, world_size));
  config.train.steps = 3;
  const std::vector<double> late = train_losses(delayed(config), world_size);
  Config still = config;
  still.train.optimizer.lr = 1e-30;
  const std::vector<double> first_weights = train_losses(still, world_size);
  EXPECT_NEAR(at(late, 0), at(first_weights, 0), rounding);
  EXPECT_NEAR(at(late, 1), at(first_weights, 1), rounding);

  const TemporaryDirectory directory;
  Config begun = saved_to(directory, config);
  begun.train.steps = 1;
  train_on_ranks(shared_out(begun, world_size), world_size);
  begun.resume = "auto";
  begun.train.steps = 3;
  begun.train.optimizer.lr = 1e-30;
  const std::vector<double> after_one = train_losses(begun, world_size);
  EXPECT_NEAR(at(late, 2), at(after_one, 1), rounding);
  EXPECT_GT(std::abs(at(late, 2) - at(first_weights, 2)), 10 * rounding) << "the first gradients are applied";
}

TEST(DelayedUpdates, LackTheGradientsOfTheStepBefore) {
  expect_lacks_one_step(plain(bert_config()), 2);
  for (const int world_size : {2, 4}) {
    expect_lacks_one_step(plain_clicks(), world_size);
    expect_lacks_one_step(growing(plain_clicks()), world_size);
  }
}

/// Of the weights in two checkpoints.
static double find_largest_difference(const Outcome& a, const Outcome& b) {
  double largest = 0;
  for (const auto& [name, bytes] : a.state) {
    if (name != flat::master && !name.starts_with(flat::table)) continue;
    std::vector<float> ours(bytes.size() / sizeof(float)), theirs(ours.size());
    std::memcpy(ours.data(), bytes.data(), bytes.size());
    std::memcpy(theirs.data(), b.state.at(name).data(), bytes.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      largest = std::max(largest, static_cast<double>(std::abs(ours[i] - theirs[i])));
    }
  }
  EXPECT_FALSE(a.state.empty());
  return largest;
}

TEST(DelayedUpdates, AreAllAppliedInTheEnd) {
  for (Config config : {plain(bert_config()), plain_clicks()}) {
    SCOPED_TRACE(config.model.entry.name);
    const TemporaryDirectory first, second;
    config.train.steps = 2;
    const Outcome late = train_on_ranks(saved_to(first, shared_out(delayed(config), 2)), 2)[0];
    // Both gradients are of the first weights, as those of one step with all samples.
    config.train.steps = 1;
    config.data.batch_size *= 2;
    config.train.optimizer.lr *= 2;
    const Outcome together = train_on_ranks(saved_to(second, shared_out(config, 2)), 2)[0];
    EXPECT_LT(find_largest_difference(late, together), rounding);
  }
}

TEST(DelayedUpdates, DoNotDependOnTheNumberOfRanks) {
  for (Config clicks : {plain_clicks(), growing(plain_clicks())}) {
    clicks.train.tables = {};  // scores count the ranks that ask for a row
    for (const char* model : {"wide_deep", "deepfm", "dlrm_dcnv2"}) {
      SCOPED_TRACE(fmt::format("{}, grows: {}", model, clicks.model.dynamic_table));
      Config config = delayed(clicks);
      config.model.entry = find_model(model);
      config.train.optimizer.name = OptimizerKind::adam;
      config.train.optimizer.lr = 1e-3;
      config.train.clip_norm = 0.05;
      config.train.steps = 6;
      const std::vector<double> two = train_losses(config, 2);
      for (const int world_size : {4, 8}) EXPECT_LT(difference(train_losses(config, world_size), two), rounding);
    }
  }
}

TEST(DelayedUpdates, TrainTheSameBitsEveryTime) {
  for (Config config :
       {delayed(plain(bert_config())), delayed(plain_clicks()), delayed(admitting(growing(plain_clicks())))}) {
    config.train.steps = 6;
    EXPECT_EQ(train_losses(config, 4), train_losses(config, 4));
  }
}

TEST(DelayedUpdates, TakeMicroBatchesAndLowPrecision) {
  Config config = plain(bert_config());
  config.train.steps = 4;
  const std::vector<double> expected = train_losses(delayed(config), 2);
  Config parts = delayed(config);
  parts.train.accumulate_steps = 2;
  parts.data.batch_size /= 2;
  EXPECT_LT(difference(train_losses(parts, 2), expected), rounding);
  Config low = delayed(config);
  for (const GradAverage average : {GradAverage::fp32, GradAverage::gradient}) {
    low.amp.level = AmpLevel::O2;
    low.dist.average = average;
    EXPECT_LT(difference(train_losses(low, 2), expected), 0.05);
  }
}

/// A checkpoint has all gradients until then: a run goes on from it as the one that wrote it.
TEST(DelayedUpdates, GoOnFromACheckpointAsTheRunThatWroteIt) {
  for (Config config : {delayed(plain(bert_config())), delayed(plain_clicks()), delayed(growing(plain_clicks())),
                        delayed(admitting(growing(plain_clicks())))}) {
    SCOPED_TRACE(fmt::format("{}, grows: {}", config.model.entry.name, config.model.dynamic_table));
    const TemporaryDirectory whole, parts;
    config.output.checkpoint_every_steps = 3;
    config.train.steps = 6;
    config = shared_out(config, 2);
    const Outcome expected = train_on_ranks(saved_to(whole, config), 2)[0];
    Config first = saved_to(parts, config);
    first.train.steps = 3;
    train_on_ranks(first, 2);
    Config rest = saved_to(parts, config);
    rest.resume = "auto";
    const Outcome resumed = train_on_ranks(rest, 2)[0];
    EXPECT_EQ(std::vector(expected.result.losses.begin() + 3, expected.result.losses.end()), resumed.result.losses);
    if (config.model.dynamic_table) {  // whose rows have other numbers after resuming
      const std::string words = std::string(flat::table) + "deep.words.weight";
      RowsByKey rows = rows_by_key(resumed.state, words), expected_rows = rows_by_key(expected.state, words);
      rows.erase(RowIndex::no_key);
      expected_rows.erase(RowIndex::no_key);
      EXPECT_EQ(rows, expected_rows);
    } else {
      expect_same_state(expected, resumed);
    }
  }
}

/// Getting a batch's rows ahead counts its keys once, as getting them at its step does.
TEST(DelayedUpdates, CountOccurrencesAsSynchronousOnesDo) {
  Config config = admitting(growing(plain_clicks()));
  config.train.steps = 9;
  config.eval.every_steps = 4;
  config.eval.batch_size = 8;
  config.eval.max_samples = 16;
  const RunResult at_once = train_on_ranks(shared_out(config, 2), 2)[0].result;
  const RunResult late = train_on_ranks(shared_out(delayed(config), 2), 2)[0].result;
  EXPECT_GT(at_once.table->evicted, 0);
  EXPECT_EQ(late.table->rows, at_once.table->rows);
  EXPECT_EQ(late.table->evicted, at_once.table->evicted);
  EXPECT_EQ(late.table->unadmitted, at_once.table->unadmitted);
}

/// An end that no one knew of, with the next batch's rows there already.
TEST(DelayedUpdates, CountOccurrencesOnceWhereATrainingEndsEarly) {
  Config config = admitting(growing(plain_clicks()));
  config.train.steps = 9;
  const TableReport whole = *train_on_ranks(shared_out(config, 2), 2)[0].result.table;
  const TemporaryDirectory directory;
  config = saved_to(directory, shared_out(delayed(config), 2));
  config.train.time_limit_seconds = 1e-9;
  const RunResult begun = train_on_ranks(config, 2)[0].result;
  EXPECT_LT(begun.losses.size(), 9u);
  config.train.time_limit_seconds = 0;
  config.resume = "auto";
  const TableReport late = *train_on_ranks(config, 2)[0].result.table;
  EXPECT_EQ(late.rows, whole.rows);
  EXPECT_EQ(late.evicted, whole.evicted);
  EXPECT_EQ(late.unadmitted, whole.unadmitted);
}

/// Another size of batches has other plans: what the last one's step has sent is applied first.
TEST(DelayedUpdates, TrainBatchesOfTwoSizes) {
  for (Config config : {delayed(plain_clicks()), delayed(growing(plain_clicks()))}) {
    const TemporaryDirectory directory;
    config.train.steps = 6;
    config.train.phases.until = {0.5, 1};
    for (const std::vector<double>& sizes : {std::vector{8.0, 2.0}, std::vector{2.0, 8.0}}) {
      config.train.phases.batch_size = sizes;
      config.output.checkpoint_every_steps = 0;
      const RunResult expected = train_on_ranks(config, 2)[0].result;
      Config saving = saved_to(directory, config);
      saving.output.checkpoint_every_steps = 3;
      EXPECT_EQ(train_on_ranks(saving, 2)[0].result.losses, expected.losses) << "which ends the first phase anyway";
    }
  }
}

/// The mean of a bag is of the keys that have rows, which the ranks tell each other ahead.
TEST(DelayedUpdates, ReduceBagsOfKnownKeys) {
  Config config = admitting(growing(plain_clicks()));
  config.model.bag = BagMode::mean;
  config.data.slots = 7;
  config.data.bag_size = 4;
  config.train.optimizer.lr = 1e-30;
  config.train.steps = 6;
  EXPECT_EQ(train_losses(delayed(config), 2), train_losses(config, 2));
}

TEST(DelayedUpdates, EvaluateWithAllGradients) {
  Config config = delayed(plain_clicks());
  config.train.steps = 4;
  config.eval.every_steps = 2;
  config.eval.batch_size = 8;
  config.eval.max_samples = 16;
  const RunResult result = train_on_ranks(shared_out(config, 2), 2)[0].result;
  EXPECT_EQ(result.evaluations.size(), 2u);
  EXPECT_EQ(result.losses.size(), 4u);
}

TEST(DelayedUpdates, ExcludeScaledLosses) {
  Config config = delayed(plain(bert_config()));
  config.amp.level = AmpLevel::O1;
  config.amp.dtype = AmpDType::fp16;
  const std::string message = get_error([&] { train_on_ranks(config, 2); }, ExitCode::usage);
  EXPECT_NE(message.find("dist.updates: expected synchronous"), std::string::npos) << message;
}

}  // namespace delayed_updates_test
}  // namespace ptrain

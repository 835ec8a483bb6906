// dist.tables: rows with dist.reproducible: ranks that keep their rows of tables alone train the same bits as ranks
// that keep whole tables. exchanged_tables_test.cpp has the rest.
#include "core/config/config_enums.h"
#include "core/train/plans/memory_estimate.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace {

using namespace testing;

constexpr std::int64_t table_rows = 501;  // which neither 2 nor 4 ranks divide, and of which batches repeat many

Config divided_config(std::string_view model = "wide_deep") {
  Config config = clicks_config();
  config.model.entry = find_model(model);
  config.model.hash_buckets = table_rows;
  config.data.batch_size = 8;
  config.train.steps = 5;
  config.dist.reproducible = true;
  config.dist.tables = TablePlacement::rows;
  return config;
}

Config replicated(Config config) {
  config.dist.tables = TablePlacement::replicated;
  return config;
}

Outcome train_divided(const Config& config, int world_size) {
  const TemporaryDirectory directory;
  return train_on_ranks(saved_to(directory, config), world_size)[0];
}

void expect_same_divided(const Config& config, std::initializer_list<int> world_sizes) {
  for (const int world_size : world_sizes) {
    SCOPED_TRACE(
        fmt::format("{}, {}, {} ranks", config.model.entry.name, enum_name(config.train.optimizer.name), world_size));
    const Outcome own_rows = train_divided(config, world_size);
    const Outcome whole = train_divided(replicated(config), world_size);
    EXPECT_EQ(own_rows.result.losses, whole.result.losses);
    expect_same_state(own_rows, whole);
  }
}

TEST(DividedTables, TrainTheSameBitsOnAnyNumberOfRanks) {
  for (const char* model : {"wide_deep", "dlrm_dcnv2"}) expect_same_divided(divided_config(model), {1, 2, 4, 8});
}

/// Tables alone train: gradients of layers are sums over a rank's samples. A multiple of 16 of these has the same
/// arithmetic for each.
Config tables_alone() {
  Config config = divided_config();
  config.data.batch_size = 12 * 16;
  config.data.synthetic_samples = 2048;
  config.train.groups.match = {"*words*", "*"};
  config.train.groups.trainable = {true, false};
  return config;
}

TEST(DividedTables, AreTheSameBitsHoweverManyRanksShareABatch) {
  Config config = tables_alone();
  config.data.batch_size = 8 * 16;
  const Outcome one = train_divided(config, 1);
  for (const int world_size : {2, 4, 8}) {
    SCOPED_TRACE(fmt::format("{} ranks", world_size));
    const Outcome shared = train_divided(shared_out(config, world_size), world_size);
    expect_same_state(shared, one);
    EXPECT_LT(difference(shared.result.losses, one.result.losses), 1e-6) << "their mean is rounded otherwise";
  }
}

TEST(DividedTables, TrainTheSameBitsWithBags) {
  for (const char* model : {"wide_deep", "dlrm_dcnv2"}) {
    for (const BagMode bag : {BagMode::sum, BagMode::mean}) {
      Config config = divided_config(model);
      config.model.bag = bag;
      config.data.slots = 7;
      config.data.bag_size = 4;
      expect_same_divided(config, {1, 2, 4});
    }
  }
}

TEST(DividedTables, TrainTheSameBitsWithEveryOptimizerOfRows) {
  Config config = divided_config();
  config.train.optimizer.momentum = 0.9;
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::adam,
                                   OptimizerKind::adagrad, OptimizerKind::rmsprop}) {
    config.train.optimizer.name = kind;
    expect_same_divided(config, {2});
  }
  config.train.optimizer.name = OptimizerKind::adagrad;
  config.train.optimizer.row_wise = true;
  expect_same_divided(config, {4});
}

TEST(DividedTables, TrainTheSameBitsWithClippingGroupsAndShardedMoments) {
  Config config = divided_config("deepfm");
  config.train.clip_norm = 0.1;
  config.train.groups.match = {"*words*"};
  config.train.groups.lr_scale = {0.5};
  config.dist.shard = Sharding::optimizer;
  expect_same_divided(config, {3});
}

TEST(DividedTables, SkipTheStepsThatOverflow) {
  Config config = divided_config();
  config.amp.level = AmpLevel::O1;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = std::ldexp(1.0, 24);
  config.train.steps = 20;
  const Outcome own_rows = train_divided(config, 2), whole = train_divided(replicated(config), 2);
  EXPECT_GT(own_rows.result.skipped_steps, 1);
  EXPECT_LT(own_rows.result.skipped_steps, 20);
  EXPECT_EQ(own_rows.result.losses, whole.result.losses);
  expect_same_state(own_rows, whole);
}

/// A table that stays as it is has no moments and no gradient.
TEST(DividedTables, MayBeFrozen) {
  Config config = divided_config();
  config.train.groups.match = {"deep.words*"};
  config.train.groups.trainable = {false};
  expect_same_divided(config, {2});
}

/// Of the last of 37 samples, some ranks get none.
TEST(DividedTables, EvaluateTheSameBitsThoughRanksRunOutOfSamples) {
  Config config = divided_config();
  config.eval.every_steps = 2;
  config.eval.max_samples = 37;
  config.eval.batch_size = 8;
  for (const std::int64_t batch : {8, 16}) {
    config.eval.batch_size = batch;
    const RunResult own_rows = train_on_ranks(config, 4)[0].result;
    const RunResult whole = train_on_ranks(replicated(config), 4)[0].result;
    ASSERT_EQ(own_rows.evaluations.size(), whole.evaluations.size());
    for (std::size_t i = 0; i < whole.evaluations.size(); ++i) {
      EXPECT_EQ(own_rows.evaluations[i].evaluation.eval_samples, 37);
      EXPECT_EQ(own_rows.evaluations[i].loss, whole.evaluations[i].loss);
      EXPECT_EQ(get_value(own_rows.evaluations[i], "auc"), get_value(whole.evaluations[i], "auc"));
    }
  }
}

/// Four ranks are stopped and three go on.
TEST(DividedTables, ResumeOnOtherRanksWithTheBitsOfAnUninterruptedTraining) {
  Config config = tables_alone();
  const Outcome whole = train_divided(shared_out(config, 4), 4);
  const TemporaryDirectory directory;
  config = saved_to(directory, config);
  config.train.steps = 2;
  train_on_ranks(shared_out(config, 4), 4);
  config.train.steps = 5;
  config.resume = "auto";
  const Outcome resumed = train_on_ranks(shared_out(config, 3), 3)[0];
  EXPECT_EQ(resumed.result.first_step, 2);
  for (const auto& [name, bytes] : whole.state) EXPECT_TRUE(resumed.state.at(name) == bytes) << name;
}

/// The losses and final state of a training whose ranks change.
Outcome train_in_parts(Config config) {
  const TemporaryDirectory directory;
  config = saved_to(directory, config);
  config.resume = "auto";
  config.train.steps = 0;
  Outcome last;
  std::vector<double> losses;
  for (const int world_size : {4, 3, 1, 2}) {
    config.train.steps += 3;
    last = train_on_ranks(config, world_size)[0];
    losses.insert(losses.end(), last.result.losses.begin(), last.result.losses.end());
  }
  EXPECT_EQ(last.result.first_step, 9);
  last.result.losses = losses;
  return last;
}

/// A checkpoint has no trace of the ranks that wrote it.
TEST(DividedTables, ResumeBitForBitOnAnyNumberOfRanks) {
  const Outcome own_rows = train_in_parts(divided_config()), whole = train_in_parts(replicated(divided_config()));
  EXPECT_EQ(own_rows.result.losses, whole.result.losses);
  expect_same_state(own_rows, whole);
}

/// The weights file that two ranks leave.
Weights weights_of_ranks(const Config& config) {
  const TemporaryDirectory directory;
  for (const std::exception_ptr& failure : run_ranks(2, 60, [&](Communicator& communicator) {
         train(
             config, [&](Trainer& trainer) { trainer.export_model(directory.path()); }, make_test_backend,
             &communicator);
       })) {
    if (failure) std::rethrow_exception(failure);
  }
  const SafetensorsFile file(directory.path() / "model.safetensors");
  Weights weights;
  for (const NamedTensor& tensor : file.tensors())
    weights[tensor.name].assign(tensor.bytes.begin(), tensor.bytes.end());
  return weights;
}

TEST(DividedTables, AreWholeInWeightsFilesAndLoadedFromThem) {
  Config config = divided_config();
  const Weights expected = weights_of_ranks(replicated(config));
  EXPECT_EQ(weights_of_ranks(config), expected);
  const TemporaryDirectory directory;
  train(config, [&](Trainer& trainer) { trainer.export_model(directory.path()); });
  config.model.weights = (directory.path() / "model.safetensors").string();
  expect_same_divided(config, {2});
}

TEST(DividedTables, MemoryIsPlannedAsItIs) {
  const auto backend = make_test_backend();
  Config config = divided_config();
  config.model.hash_buckets = 10'001;
  const auto model = small_model(config, open_dataset(data_settings(config), Split::train)->info());
  const auto estimate_for = [&](const Config& planned, int world_size) {
    return estimate_memory(step_options(planned, *model, DType::bf16, world_size), *model, {planned.data.batch_size},
                           backend->kernels());
  };
  for (const int world_size : {2, 4}) {
    SCOPED_TRACE(fmt::format("{} ranks", world_size));
    const MemoryEstimate whole = estimate_for(replicated(config), world_size), own = estimate_for(config, world_size);
    const std::int64_t own_rows = (10'001 + world_size - 1) / world_size;
    const std::int64_t row_bytes = (1 + 9) * std::int64_t{sizeof(float)};  // of a linear model's table and the layers'
    EXPECT_EQ(whole.optimizer - own.optimizer, 2 * (10'001 - own_rows) * row_bytes);
    EXPECT_GT(whole.variables - own.variables, 2 * (10'001 - own_rows) * row_bytes) << "the table itself, too";
    for (const Outcome& outcome : train_on_ranks(config, world_size)) {
      EXPECT_EQ(outcome.result.optimizer_bytes, own.optimizer);
      EXPECT_EQ(outcome.result.variable_bytes, own.variables);
    }
  }
}

}  // namespace
}  // namespace ptrain

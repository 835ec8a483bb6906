// dist.tables: rows with all-to-alls: ranks train what one rank trains, but for rounding, and the same bits every time.
#include "core/config/config_enums.h"
#include "core/train/plans/memory_estimate.h"
#include "core/train/scaling.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace ptrain {
namespace exchanged_tables_test {

using namespace testing;

constexpr double rounding = 1e-5;

/// 8 samples a step; ids that repeat within a batch and over ranks.
static Config exchanged_config(std::string_view model = "wide_deep") {
  Config config = clicks_config();
  config.model.entry = find_model(model);
  config.model.hash_buckets = 501;
  config.data.batch_size = 8;
  config.train.steps = 5;
  config.train.optimizer.name = OptimizerKind::momentum;
  config.train.optimizer.lr = 0.05;
  config.dist.tables = TablePlacement::rows;
  return config;
}

static Outcome train_exchanged(const Config& config, int world_size) {
  return train_on_ranks(shared_out(config, world_size), world_size)[0];
}

static void expect_trains_what_one_rank_trains(const Config& config, std::initializer_list<int> world_sizes) {
  const std::vector<double> expected = losses(config);
  for (const int world_size : world_sizes) {
    SCOPED_TRACE(
        fmt::format("{}, {}, {} ranks", config.model.entry.name, enum_name(config.train.optimizer.name), world_size));
    EXPECT_LT(difference(train_exchanged(config, world_size).result.losses, expected), rounding);
  }
}

TEST(ExchangedTables, TrainWhatOneRankTrains) {
  for (const char* model : {"wide_deep", "dlrm_dcnv2", "deepfm"}) {
    expect_trains_what_one_rank_trains(exchanged_config(model), {1, 2, 4, 8});
  }
}

TEST(ExchangedTables, TrainWhatOneRankTrainsWithBags) {
  for (const BagMode bag : {BagMode::sum, BagMode::mean}) {
    Config config = exchanged_config();
    config.model.bag = bag;
    config.data.slots = 7;
    config.data.bag_size = 4;
    expect_trains_what_one_rank_trains(config, {2, 4});
  }
}

TEST(ExchangedTables, TrainWhatOneRankTrainsWithEveryOptimizerOfRows) {
  Config config = exchanged_config();
  config.train.optimizer.lr = 1e-3;
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adagrad, OptimizerKind::rmsprop}) {
    config.train.optimizer.name = kind;
    expect_trains_what_one_rank_trains(config, {2});
  }
  config.train.optimizer.name = OptimizerKind::adagrad;
  config.train.optimizer.row_wise = true;
  expect_trains_what_one_rank_trains(config, {4});
}

TEST(ExchangedTables, ClipByTheNormOfAllRanksRows) {
  Config config = exchanged_config("deepfm");
  config.train.clip_norm = 0.05;
  config.train.groups.match = {"*words*"};
  config.train.groups.lr_scale = {0.5};
  expect_trains_what_one_rank_trains(config, {2, 4, 8});
  config.dist.shard = Sharding::optimizer;
  expect_trains_what_one_rank_trains(config, {2, 4});
  Config free = config;
  free.train.clip_norm = 0;
  EXPECT_GT(difference(losses(config), losses(free)), 100 * rounding) << "nothing is clipped";
}

/// Where only tables train, the norm is that of their rows.
TEST(ExchangedTables, ClipByTheNormOfRowsAlone) {
  Config config = exchanged_config();
  config.train.clip_norm = 0.01;
  config.train.groups.match = {"*words*", "*"};
  config.train.groups.trainable = {true, false};
  expect_trains_what_one_rank_trains(config, {2, 4});
  const TemporaryDirectory directory;
  EXPECT_FALSE(train_exchanged(saved_to(directory, config), 2).state.empty()) << "whose parameters are compared";
  Config free = config;
  free.train.clip_norm = 0;
  EXPECT_GT(difference(losses(config), losses(free)), 100 * rounding) << "nothing is clipped";
}

TEST(ExchangedTables, SkipTheStepsThatOverflow) {
  Config config = exchanged_config();
  config.amp.level = AmpLevel::O1;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = std::ldexp(1.0, 24);
  config.train.steps = 20;
  Config whole = config;
  whole.dist.tables = TablePlacement::replicated;
  const RunResult own_rows = train_exchanged(config, 2).result, replicated = train_exchanged(whole, 2).result;
  EXPECT_GT(own_rows.skipped_steps, 1);
  EXPECT_EQ(own_rows.skipped_steps, replicated.skipped_steps);
  EXPECT_LT(difference(own_rows.losses, replicated.losses), 1e-3);
}

TEST(ExchangedTables, TrainTheSameBitsEveryTime) {
  const TemporaryDirectory first, second;
  for (const int world_size : {2, 4, 8}) {
    const auto run = [&](const TemporaryDirectory& directory) {
      Config config = saved_to(directory, shared_out(exchanged_config(), world_size));
      config.output.fresh = true;
      return train_on_ranks(config, world_size)[0];
    };
    const Outcome one = run(first), other = run(second);
    EXPECT_EQ(one.result.losses, other.result.losses);
    expect_same_state(one, other);
  }
}

/// What no step writes may be anything, infinite too.
TEST(ExchangedTables, ShowNoRangesOfWhatIsNotUsed) {
  Config config = exchanged_config();
  config.output.numerics = true;
  const RunResult result = train_exchanged(config, 2).result;
  ASSERT_TRUE(result.numerics.has_value());
  EXPECT_TRUE(result.numerics->not_finite.empty());
  std::set<std::string> ops;
  for (const ValueRange& range : result.numerics->ranges) ops.insert(range.op);
  EXPECT_TRUE(ops.contains("embedding_bag"));
  for (const char* op : {"exchange_rows", "unique_gradient", "exchange_gradient"}) EXPECT_FALSE(ops.contains(op)) << op;
}

TEST(ExchangedTables, MayBeFrozen) {
  Config config = exchanged_config();
  config.train.groups.match = {"deep.words*"};
  config.train.groups.trainable = {false};
  expect_trains_what_one_rank_trains(config, {2});
}

/// Of the last of 37 samples, some ranks get none.
TEST(ExchangedTables, EvaluateTheSameBitsThoughRanksRunOutOfSamples) {
  Config config = exchanged_config();
  config.train.steps = 1;
  config.train.optimizer.lr = 1e-30;  // the weights stay what they are
  config.eval.every_steps = 1;
  config.eval.max_samples = 37;
  config.eval.batch_size = 8;
  const EvalResult own_rows = train_on_ranks(config, 4)[0].result.evaluations.at(0);
  config.dist.tables = TablePlacement::replicated;
  const EvalResult whole = train_on_ranks(config, 4)[0].result.evaluations.at(0);
  EXPECT_EQ(own_rows.evaluation.eval_samples, 37);
  EXPECT_EQ(own_rows.loss, whole.loss);
  EXPECT_EQ(get_value(own_rows, "auc"), get_value(whole, "auc"));
}

TEST(ExchangedTables, ResumeOnAnyNumberOfRanks) {
  const Config config = divisible(exchanged_config());
  EXPECT_LT(difference(train_in_parts(config, {4, 3, 1, 2}), losses(config)), rounding);
  EXPECT_EQ(train_in_parts(config, {4, 4, 4, 4}), train_exchanged(config, 4).result.losses);
}

TEST(ExchangedTables, MemoryIsPlannedAsItIs) {
  const auto backend = make_test_backend();
  Config config = exchanged_config();
  config.model.hash_buckets = 10'001;
  config.train.clip_norm = 1;
  const auto model = small_model(config, open_dataset(data_settings(config), Split::train)->info());
  for (const int world_size : {2, 4}) {
    SCOPED_TRACE(fmt::format("{} ranks", world_size));
    const MemoryEstimate own = estimate_memory(step_options(config, *model, DType::bf16, world_size), *model,
                                               {config.data.batch_size}, backend->kernels());
    for (const Outcome& outcome : train_on_ranks(config, world_size)) {
      EXPECT_EQ(outcome.result.optimizer_bytes, own.optimizer);
      EXPECT_EQ(outcome.result.variable_bytes, own.variables);
      EXPECT_EQ(outcome.result.arena_bytes, own.arena);
    }
  }
}

/// By formula: of n ids that are as likely as all others, V (1 - (1 - 1 / V)^n) differ.
TEST(ExchangedTables, ArePredictedByTheDifferentIdsOfABatch) {
  Config config = exchanged_config();
  config.model.hash_buckets = 10'000;
  config.data.batch_size = 100;
  const auto model = small_model(config, open_dataset(data_settings(config), Split::train)->info());
  constexpr double ids = 2600, row = (1 + 9) * sizeof(float);  // of the linear model and the layers
  for (const int ranks : {2, 8}) {
    const double rows = 10'000;  // which both numbers of ranks divide
    const double different = rows * (1 - std::pow(1 - 1 / rows, ids));
    const StepOptions step = step_options(config, *model, DType::bf16, ranks);
    const TableTraffic traffic = count_table_traffic(step, 100, *model);
    EXPECT_EQ(traffic.ids, ids);
    EXPECT_NEAR(traffic.different_ids, different, 1e-6);
    EXPECT_NEAR(traffic.id_bytes, different * 4, 1e-3);
    EXPECT_NEAR(traffic.row_bytes, different * row, 1e-3);
    EXPECT_NEAR(traffic.gradient_bytes, different * row, 1e-3);
    double exchanged = 0;
    for (const auto& event : divide_step(step, 100, *model, {1, 0, {}}).events) {
      if (event.kind == StepEventKind::all_to_all) exchanged += event.bytes;
    }
    EXPECT_NEAR(exchanged, traffic.bytes() + 8 * ranks, 1e-3) << "and the numbers of ids";
  }
  config.dist.reproducible = true;
  EXPECT_EQ(count_table_traffic(step_options(config, *model, DType::bf16, 2), 100, *model).bytes(), 0);
}

}  // namespace exchanged_tables_test
}  // namespace ptrain

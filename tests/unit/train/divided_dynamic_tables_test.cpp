// model.dynamic_table with dist.tables: rows: ranks make rows of the keys that a hash gives them.
#include "core/passes/optimizer.h"
#include "tests/unit/train/data_parallel.h"
#include "tests/unit/train/table_rows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace divided_dynamic_tables_test {

using namespace testing;

constexpr double rounding = 1e-5;
const std::string table = std::string(flat::table) + "deep.words.weight";

/// 8 samples a step, of the 520 words of synthetic clicks.
Config divided_config(std::string_view model = "wide_deep") {
  Config config = clicks_config();
  config.model.entry = find_model(model);
  config.model.hash_buckets = 600;
  config.model.dynamic_table = true;
  config.data.batch_size = 8;
  config.train.steps = 5;
  config.train.optimizer.name = OptimizerKind::momentum;
  config.train.optimizer.lr = 0.05;
  config.dist.tables = TablePlacement::rows;
  return config;
}

Outcome train_divided(const Config& config, int world_size) {
  return train_on_ranks(shared_out(config, world_size), world_size)[0];
}

/// With the last checkpoint's tensors.
Outcome train_and_save_divided(const Config& config, int world_size) {
  const TemporaryDirectory directory;
  return train_divided(saved_to(directory, config), world_size);
}

void expect_near_rows(const RowsByKey& rows, const RowsByKey& expected) {
  ASSERT_EQ(rows.size(), expected.size());
  for (const auto& [key, row] : expected) {
    ASSERT_TRUE(rows.contains(key));
    for (std::size_t i = 0; i < row.size(); ++i) ASSERT_NEAR(rows.at(key)[i], row[i], rounding) << key;
  }
}

TEST(DividedDynamicTables, TrainTheRowsThatOneRankTrains) {
  for (const auto& [model, name] :
       {std::pair("wide_deep", "deep.words.weight"), std::pair("deepfm", "fields.words.weight"),
        std::pair("dlrm_dcnv2", "words.weight")}) {
    const Config config = divided_config(model);
    const Outcome one = train_and_save(config);
    for (const int world_size : {1, 2, 4}) {
      SCOPED_TRACE(fmt::format("{}, {} ranks", model, world_size));
      const Outcome ranks = train_and_save_divided(config, world_size);
      EXPECT_LT(difference(ranks.result.losses, one.result.losses), rounding);
      EXPECT_EQ(ranks.result.table->rows, one.result.table->rows);
      EXPECT_EQ(ranks.result.table->capacity, 600);
      const std::string values = std::string(flat::table) + name;
      expect_near_rows(rows_by_key(ranks.state, values), rows_by_key(one.state, values));
    }
  }
}

TEST(DividedDynamicTables, TrainWithEveryOptimizerOfRows) {
  Config config = divided_config();
  config.train.clip_norm = 0.05;
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adagrad}) {
    config.train.optimizer.name = kind;
    config.train.optimizer.lr = 1e-3;
    config.train.optimizer.row_wise = kind == OptimizerKind::adagrad;
    EXPECT_LT(difference(train_divided(config, 2).result.losses, losses(config)), rounding) << enum_name(kind);
  }
}

TEST(DividedDynamicTables, TrainTheSameBitsEveryTime) {
  Config config = divided_config();
  config.model.admit_after = 2;
  config.train.tables = {.sweep_every_steps = 2, .decay = 0.5, .evict_below = 0.6, .folder = ""};
  config.train.steps = 8;
  for (const int world_size : {2, 4}) {
    const Outcome one = train_and_save_divided(config, world_size), other = train_and_save_divided(config, world_size);
    EXPECT_EQ(one.result.losses, other.result.losses);
    expect_same_state(one, other);
  }
}

/// A mean is of the known keys, though others look them up.
TEST(DividedDynamicTables, EvaluateUnknownKeysAsOneRankDoes) {
  for (const int bag : {0, 4}) {
    Config config = divided_config();
    if (bag > 0) {
      config.model.bag = BagMode::mean;
      config.data.slots = 7;
      config.data.bag_size = bag;
    }
    config.train.steps = 2;
    config.eval.every_steps = 2;
    config.eval.max_samples = 37;
    config.eval.batch_size = 8;
    const Outcome one = train(config), four = train_divided(config, 4);
    const EvalResult &expected = one.result.evaluations.at(0), &evaluated = four.result.evaluations.at(0);
    EXPECT_NEAR(*evaluated.loss, *expected.loss, rounding);
    EXPECT_NEAR(get_value(evaluated, "auc"), get_value(expected, "auc"), rounding);
    EXPECT_EQ(four.result.table->rows, one.result.table->rows) << "an evaluation makes no rows";
  }
}

TEST(DividedDynamicTables, AdmitKeysThatRanksOftenAskFor) {
  Config config = divided_config();
  config.data.slots = 8;
  config.data.bag_size = 4;
  config.model.bag = BagMode::mean;
  config.model.admit_after = 3;
  config.train.steps = 40;
  const RunResult two = train_divided(config, 2).result;
  EXPECT_GT(two.table->rows, 0);
  EXPECT_GT(two.table->unadmitted, two.table->rows);
  config.model.admit_after = 255;
  EXPECT_EQ(train_divided(config, 2).result.table->rows, 0);
}

TEST(DividedDynamicTables, StartEvictedRowsAnew) {
  Config config = divided_config();
  config.data.synthetic_samples = config.data.batch_size;  // every step has the same batch
  config.data.shuffle = false;
  config.train.optimizer.name = OptimizerKind::adam;
  config.train.optimizer.lr = 0;  // and so the same gradient
  config.train.tables = {.sweep_every_steps = 1, .decay = 0.5, .evict_below = 1e6, .folder = ""};
  config.train.steps = 1;
  const Outcome one = train_and_save_divided(config, 2);
  config.train.steps = 4;
  const Outcome four = train_and_save_divided(config, 2);
  EXPECT_EQ(four.result.table->evicted, 3 * one.result.table->rows);
  EXPECT_EQ(four.result.table->rows, one.result.table->rows);
  for (const std::string& name : {table, std::string(flat::moment2) + ".deep.words.weight"}) {
    EXPECT_EQ(rows_by_key(four.state, name), rows_by_key(one.state, name));
  }
}

TEST(DividedDynamicTables, EndTheRunWhenAShareIsFull) {
  Config config = divided_config();
  config.model.hash_buckets = 100;
  config.train.steps = 40;
  try {
    train_divided(config, 2);
    ADD_FAILURE() << "100 rows suffice for a rank's half of 520 words";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("share of 100 rows (model.hash_buckets)"), std::string::npos)
        << error.what();
  }
}

TEST(DividedDynamicTables, AreRefusedWhereRanksHaveWholeTables) {
  Config config = divided_config();
  config.dist.reproducible = true;
  EXPECT_THROW(train_divided(config, 2), Error);
  config.dist.reproducible = false;
  config.dist.tables = TablePlacement::replicated;
  EXPECT_THROW(train_divided(config, 2), Error);
}

TEST(DividedDynamicTables, ResumeOnAnyNumberOfRanks) {
  const Config config = divisible(divided_config());
  EXPECT_LT(difference(train_in_parts(config, {2, 3, 1, 4}), losses(config)), rounding);
}

/// Counted occurrences and evictions included.
TEST(DividedDynamicTables, ResumeBitForBitOnTheSameNumber) {
  Config config = divided_config();
  config.train.steps = 12;
  config.model.admit_after = 2;
  config.train.tables = {.sweep_every_steps = 2, .decay = 0.5, .evict_below = 0.6, .folder = ""};
  for (const int world_size : {2, 4}) {
    const std::initializer_list<int> parts{world_size, world_size, world_size, world_size};
    const RunResult whole = train_divided(config, world_size).result;
    EXPECT_GT(whole.table->evicted, 0);
    EXPECT_EQ(train_in_parts(config, parts), whole.losses);
  }
}

/// Rows that were taken from keys and belong to none included.
TEST(DividedDynamicTables, HaveTheSameRowsAfterResumingOnOtherRanks) {
  for (const int before : {1, 2}) {
    const TemporaryDirectory directory;
    Config config = saved_to(directory, divided_config());
    config.data.batch_size = 12;
    config.model.admit_after = 2;
    config.train.steps = 9;  // which begins with a sweep
    config.train.tables = {.sweep_every_steps = 4, .decay = 0.5, .evict_below = 0.9, .folder = ""};
    config.resume = "auto";
    const Outcome saved = train_divided(config, before);
    EXPECT_GT(saved.result.table->evicted, 0);
    RowsByKey expected = rows_by_key(saved.state, table);
    expected.erase(RowIndex::no_key);
    EXPECT_EQ(std::ssize(expected), saved.result.table->rows);
    for (const int after : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("from {} to {} ranks", before, after));
      const TemporaryDirectory exported;
      const auto resumed = train_on_ranks(shared_out(config, after), after,
                                          [&](Trainer& trainer) { trainer.export_model(exported.path()); });
      EXPECT_EQ(rows_by_key(read_weights(exported.path()), "deep.words.weight"), expected);
      EXPECT_EQ(resumed[0].result.table->rows, saved.result.table->rows);
      EXPECT_EQ(resumed[0].result.table->evicted, saved.result.table->evicted);
      EXPECT_EQ(resumed[0].result.table->unadmitted, saved.result.table->unadmitted);
    }
  }
}

/// A file of weights has each row's keys; one rank reads them as several do.
TEST(DividedDynamicTables, StartFromFilesOfWeights) {
  Config config = divided_config();
  config.eval.every_steps = 5;
  const TemporaryDirectory exported;
  const auto trained =
      train_on_ranks(shared_out(config, 2), 2, [&](Trainer& trainer) { trainer.export_model(exported.path()); });
  config.model.weights = (exported.path() / "model.safetensors").string();
  config.train.optimizer.lr = 0;
  const double expected = *trained[0].result.evaluations.back().loss;
  EXPECT_NEAR(*train(config).result.evaluations.back().loss, expected, rounding);
  EXPECT_NEAR(*train_divided(config, 4).result.evaluations.back().loss, expected, rounding);
}

}  // namespace divided_dynamic_tables_test
}  // namespace ptrain

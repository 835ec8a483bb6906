// model.dynamic_table: each category has a row of its own.
#include "core/passes/optimizer.h"
#include "tests/unit/train/table_rows.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

using namespace testing;

/// Room for the 520 words of synthetic clicks.
Config dynamic_config() {
  Config config = clicks_config();
  config.model.hash_buckets = 600;
  config.model.dynamic_table = true;
  return config;
}

/// A number of rows, from `least` on, among which no two keys share one by their remainders.
std::int64_t choose_buckets(const std::vector<std::int64_t>& keys, std::int64_t least) {
  for (std::int64_t buckets = least;; ++buckets) {
    std::set<std::uint64_t> rows;
    for (const std::int64_t key : keys)
      rows.insert(static_cast<std::uint64_t>(key) % static_cast<std::uint64_t>(buckets));
    if (rows.size() == keys.size()) return buckets;
  }
}

/// Writes the weights of a dynamic table as those of a hashed one of so many rows.
void write_hashed(const std::filesystem::path& folder, std::int64_t buckets, const std::filesystem::path& file) {
  const Weights weights = ptrain::testing::read_weights(folder);
  const SafetensorsFile dynamic(folder / "model.safetensors");
  std::vector<std::vector<float>> tables;
  std::vector<NamedTensor> tensors;
  for (const NamedTensor& tensor : dynamic.tensors()) {
    if (tensor.name == row_index::keys) continue;
    tensors.push_back(tensor);
    if (!tensor.name.ends_with("words.weight")) continue;
    const std::int64_t width = tensor.shape[1];
    std::vector<float>& table = tables.emplace_back(static_cast<std::size_t>(buckets * width));
    for (const auto& [key, row] : rows_by_key(weights, tensor.name)) {
      const auto at = static_cast<std::uint64_t>(key) % static_cast<std::uint64_t>(buckets);
      std::ranges::copy(row, table.begin() + static_cast<std::ptrdiff_t>(at) * width);
    }
    tensors.back().shape = Shape{buckets, width};
    tensors.back().bytes = std::as_bytes(std::span(table));
  }
  write_safetensors(file, tensors, {}, [](const NamedTensor& tensor) { return tensor.bytes; });
}

TEST(DynamicTables, TrainTheBitsOfAHashedTableWithoutCollisions) {
  for (const char* model : {"wide_deep", "deepfm"}) {
    for (const OptimizerKind optimizer : {OptimizerKind::adamw, OptimizerKind::adagrad}) {
      SCOPED_TRACE(fmt::format("{} {}", model, enum_name(optimizer)));
      Config config = dynamic_config();
      config.model.entry = find_model(model);
      config.train.optimizer.name = optimizer;
      config.train.optimizer.row_wise = optimizer == OptimizerKind::adagrad;
      config.data.drop_last = false;
      config.data.synthetic_samples = 250;
      config.train.steps = 20;
      config.eval.every_steps = 10;
      const TemporaryDirectory directory;
      Config start = config;  // each row's start, and no step
      start.train.optimizer.lr = 0;
      start.train.steps = 8;
      train(start, [&](Trainer& trainer) { trainer.export_model(directory.path()); });
      const auto file = directory.path() / "hashed.safetensors";
      Config hashed = config;
      hashed.model.dynamic_table = false;
      hashed.model.hash_buckets = choose_buckets(read_keys(read_weights(directory.path())), 60'000);
      hashed.model.weights = file.string();
      write_hashed(directory.path(), hashed.model.hash_buckets, file);
      const RunResult dynamic = train(config).result, plain = train(hashed).result;
      EXPECT_EQ(dynamic.losses, plain.losses);
      ASSERT_EQ(dynamic.evaluations.size(), 2u);
      for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(dynamic.evaluations[i].loss, plain.evaluations[i].loss);
    }
  }
}

/// Rows of other categories, evictions and counted occurrences included.
TEST(DynamicTables, ContinueBitForBit) {
  Config config = dynamic_config();
  expect_resumes_exactly(config, 3, 10);
  config.model.admit_after = 3;
  expect_resumes_exactly(config, 3, 10);
  config.train.tables = {.sweep_every_steps = 2, .decay = 0.4, .evict_below = 1, .folder = ""};
  expect_resumes_exactly(config, 5, 12);
}

TEST(DynamicTables, MayContinueWithRoomForMore) {
  const TemporaryDirectory directory;
  Config config = dynamic_config();
  config.train.steps = 10;
  const std::vector<double> whole = losses(config);
  config = saved_to(directory, config);
  config.train.steps = 4;
  train(config);
  config.train.steps = 10;
  config.resume = "auto";
  config.model.hash_buckets = 5000;
  const Outcome resumed = train(config);
  EXPECT_EQ(resumed.result.losses, std::vector<double>(whole.begin() + 4, whole.end()));
  EXPECT_EQ(resumed.result.table->capacity, 5000);
  config.model.hash_buckets = 300;
  config.train.steps = 11;
  EXPECT_THROW(train(config), Error);
}

TEST(DynamicTables, ContinueFromCheckpointsOfChanges) {
  for (const bool dynamic : {true, false}) {
    Config config = dynamic_config();
    config.model.dynamic_table = dynamic;
    config.model.hash_buckets = 20'000;  // of which the words of synthetic clicks are few
    config.train.steps = 10;
    const std::vector<double> whole = losses(config);
    const TemporaryDirectory directory;
    config = saved_to(directory, config);
    config.output.checkpoint_every_steps = 1;
    config.output.whole_checkpoint_every = 4;
    config.output.keep_checkpoints = 1;
    config.train.steps = 7;
    const Outcome first = train(config);
    EXPECT_EQ(load_checkpoint(first.result.checkpoint).info().base.value().step, 5u);
    EXPECT_EQ(list_checkpoints(directory.path()), (std::vector<std::uint64_t>{5, 7}));
    config.train.steps = 10;
    config.resume = "auto";
    EXPECT_EQ(train(config).result.losses, std::vector<double>(whole.begin() + 7, whole.end()));
  }
}

TEST(DynamicTables, StoreTheRowsInUseAlone) {
  Config config = dynamic_config();
  config.model.hash_buckets = 100'000;
  config.data.slots = 3;
  config.data.bag_size = 2;
  const Outcome outcome = train_and_save(config);
  EXPECT_EQ(outcome.result.table->rows, 60) << "20 words of each slot";
  EXPECT_EQ(outcome.state.at(row_index::keys).size(), 60 * sizeof(std::int64_t));
  EXPECT_EQ(outcome.state.at(std::string(flat::table) + "deep.words.weight").size(), 60 * 9 * sizeof(float));
  EXPECT_FALSE(outcome.state.contains(row_index::slots));
}

TEST(DynamicTables, EvictedRowsStartAnew) {
  Config config = dynamic_config();
  config.data.synthetic_samples = config.data.batch_size;  // every step has the same batch
  config.data.shuffle = false;
  config.train.optimizer.lr = 0;  // and so the same gradient
  config.train.tables = {.sweep_every_steps = 1, .decay = 0.5, .evict_below = 1e6, .folder = ""};
  config.train.steps = 1;
  const Outcome one = train_and_save(config);
  config.train.steps = 4;
  const Outcome four = train_and_save(config);
  EXPECT_EQ(four.result.table->evicted, 3 * one.result.table->rows);
  for (const std::string& name :
       {std::string(flat::table), std::string(flat::moment1) + ".", std::string(flat::moment2) + "."}) {
    EXPECT_EQ(rows_by_key(four.state, name + "deep.words.weight"), rows_by_key(one.state, name + "deep.words.weight"));
  }
}

/// The row of a category that is known again has other numbers than before.
TEST(DynamicTables, EvictionLeavesRoomForOtherCategories) {
  Config config = dynamic_config();
  config.model.hash_buckets = 510;  // the training has 520 words
  config.train.steps = 40;
  EXPECT_THROW(train(config), Error);
  config.train.tables = {.sweep_every_steps = 1, .decay = 0.5, .evict_below = 1, .folder = ""};
  const RunResult swept = train(config).result;
  EXPECT_GT(swept.table->evicted, 20);
  EXPECT_LE(swept.table->rows, 510);
}

TEST(DynamicTables, LearnWhereHashedOnesCollide) {
  Config config = dynamic_config();
  config.data.synthetic_samples = 4096;
  config.train.steps = 256;
  config.eval.every_epochs = 1;
  const double dynamic = get_value(train(config).result.evaluations.back(), "auc");
  config.model.dynamic_table = false;
  config.model.hash_buckets = 50;
  const double hashed = get_value(train(config).result.evaluations.back(), "auc");
  EXPECT_GT(dynamic, hashed + 0.03);
  EXPECT_GT(dynamic, 0.75);
}

/// Of a bag, only known keys count.
TEST(DynamicTables, AverageTheKnownKeysOfABag) {
  Config config = dynamic_config();
  config.data.slots = 8;
  config.data.bag_size = 4;
  config.model.bag = BagMode::mean;
  config.model.admit_after = 2;
  config.data.synthetic_samples = 4096;
  config.train.steps = 256;
  config.eval.every_epochs = 1;
  const RunResult result = train(config).result;
  EXPECT_GT(get_value(result.evaluations.back(), "auc"), 0.7);
  EXPECT_GT(result.table->unadmitted, 0);
}

TEST(DynamicTables, AreWholeInWeightsFiles) {
  Config config = dynamic_config();
  config.eval.every_steps = 8;
  const TemporaryDirectory directory;
  config.train.steps = 8;
  const RunResult trained = train(config, [&](Trainer& trainer) { trainer.export_model(directory.path()); }).result;
  config.model.weights = (directory.path() / "model.safetensors").string();
  config.train.optimizer.lr = 0;
  const RunResult again = train(config).result;
  EXPECT_EQ(again.evaluations.back().loss, trained.evaluations.back().loss);
  config.model.dynamic_table = false;
  EXPECT_THROW(train(config), Error) << "a hashed table has other rows";
}

}  // namespace
}  // namespace ptrain

// Training with tables that are updated by rows.
#include "core/data/tensor_names.h"
#include "core/passes/optimizer.h"
#include "tests/error_message.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

using namespace testing;

TEST(Clicks, AreLearned) {
  Config config = clicks_config();
  config.data.synthetic_samples = 4096;
  config.train.steps = 256;
  config.eval.every_epochs = 1;
  const RunResult result = train(config).result;
  const EvalResult& last = result.evaluations.back();
  EXPECT_GT(get_value(last, "auc"), 0.7);
  EXPECT_GT(get_value(last, "top1"), 0.6);
  EXPECT_LT(last.loss.value(), 0.68);
  EXPECT_EQ(last.classes->classes.size(), 2u);
  EXPECT_EQ(last.evaluation.eval_samples, 1024);
}

/// Bags of none to four words; an AUC of 0.5 is chance.
Config bags_config(std::string_view model = "wide_deep", BagMode bag = BagMode::sum) {
  Config config = clicks_config();
  config.model.entry = find_model(model);
  config.model.bag = bag;
  config.data.slots = 8;
  config.data.bag_size = 4;
  return config;
}

TEST(Clicks, OfBagsAreLearned) {
  for (const BagMode bag : {BagMode::sum, BagMode::mean}) {
    for (const char* model : {"wide_deep", "ctr_dnn", "deepfm", "dlrm_dcnv2"}) {
      for (const std::int64_t dense_features : {0, 2}) {
        SCOPED_TRACE(fmt::format("{}, {}, {} dense features", model, enum_name(bag), dense_features));
        Config config = bags_config(model, bag);
        config.data.dense_features = dense_features;
        config.data.synthetic_samples = 4096;
        config.train.steps = 256;
        config.eval.every_epochs = 1;
        EXPECT_GT(get_value(train(config).result.evaluations.back(), "auc"), 0.7);
      }
    }
  }
}

TEST(Clicks, ContinueBitForBit) { expect_resumes_exactly(clicks_config(), 3, 10); }  // across the end of an epoch of 8

TEST(Clicks, ContinueBitForBitWithAScalerThatSkipsSteps) {
  Config config = clicks_config();
  config.amp.level = AmpLevel::O1;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = 1e12;
  expect_resumes_exactly(config, 4, 20);
}

/// Rows of `after` that differ from those of `before`.
std::set<std::size_t> changed_rows(const std::vector<std::byte>& before, const std::vector<std::byte>& after,
                                   std::size_t width) {
  std::set<std::size_t> rows;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) rows.insert(i / (width * sizeof(float)));
  }
  return rows;
}

/// Rows that the samples of training read; ids below 0 read none.
std::set<std::size_t> find_read_rows(const Config& config) {
  std::set<std::size_t> read;
  const auto data = open_dataset(data_settings(config), Split::train);
  Batch sample(data->tensors({}), 1);
  const auto ids = sample.values<std::int32_t>(tensor_names::categorical_features);
  Scratch scratch;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    data->load(i, SampleRandom(0, 0, i), scratch, SampleRow(sample, 0));
    for (const std::int32_t id : ids) {
      if (id >= 0) read.insert(static_cast<std::size_t>(id));
    }
  }
  return read;
}

TEST(Clicks, ChangeTheRowsThatBatchesReadAndNoOthers) {
  Config config = clicks_config();
  config.model.hash_buckets = 100'000;
  config.data.synthetic_samples = config.data.batch_size;  // 20 words of each of 26 features
  config.train.steps = 1;
  const std::string name = std::string(flat::table) + "deep.words.weight";
  const Outcome one = train_and_save(config);
  config.train.steps = 5;
  const Outcome five = train_and_save(config);
  const std::set<std::size_t> read = find_read_rows(config);
  EXPECT_EQ(changed_rows(one.state.at(name), five.state.at(name), 9), read);
  const std::string moment = std::string(flat::moment1) + ".deep.words.weight";
  EXPECT_EQ(changed_rows(std::vector<std::byte>(one.state.at(moment).size()), one.state.at(moment), 9), read);
}

TEST(Clicks, OfAnIncompleteBatchTouchNoOtherRow) {
  Config config = clicks_config();
  config.model.hash_buckets = 100'000;
  config.data.synthetic_samples = 5;
  config.data.drop_last = false;
  config.train.optimizer.weight_decay = 0.1;  // of the rows that are read
  const std::string name = std::string(flat::table) + "deep.words.weight";
  config.train.steps = 1;
  const Outcome one = train_and_save(config);
  config.train.steps = 3;
  const Outcome three = train_and_save(config);
  const std::set<std::size_t> changed = changed_rows(one.state.at(name), three.state.at(name), 9);
  EXPECT_GT(changed.size(), 50u);
  EXPECT_FALSE(changed.contains(0)) << "no sample has row 0";
}

/// Ids that are none, of which some bags have nothing else, and rows without a sample.
TEST(Clicks, OfBagsTouchTheRowsThatTheyReadAndNoOthers) {
  Config config = bags_config();
  config.model.hash_buckets = 100'000;
  config.data.synthetic_samples = 5;
  config.data.drop_last = false;
  config.train.optimizer.weight_decay = 0.1;
  const std::string name = std::string(flat::table) + "deep.words.weight";
  config.train.steps = 1;
  const Outcome one = train_and_save(config);
  config.train.steps = 3;
  const Outcome three = train_and_save(config);
  const std::set<std::size_t> read = find_read_rows(config);
  EXPECT_EQ(changed_rows(one.state.at(name), three.state.at(name), 9), read);
}

TEST(Clicks, ATableThatDoesNotFitIsNamed) {
  Config config = clicks_config();
  config.model.hash_buckets = 2'000'000'000;
  config.model.embedding_size = 4096;
  const auto training = open_dataset(data_settings(config), Split::train);
  const auto model = small_model(config, training->info());
  const auto backend = make_test_backend();
  NoteKeeper observer;
  const Trainer trainer(config, "hash", *backend, *model, *training, nullptr, observer);
  const std::string message = get_error([&] { trainer.check_memory(); }, ExitCode::failed);
  EXPECT_NE(message.find("not even a batch of 2 fits: variables need "), std::string::npos) << message;
  EXPECT_NE(message.find("deep.words.weight f32[2000000000,4096]"), std::string::npos) << message;
}

}  // namespace
}  // namespace ptrain

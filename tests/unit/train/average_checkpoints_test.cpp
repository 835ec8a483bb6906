// The mean of a training's last checkpoints: what it is, that it alone is evaluated and exported, and what it leaves as
// it is.
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace ptrain {
namespace {

using namespace testing;

namespace fs = std::filesystem;

/// With running statistics; checkpoints after each second step, of which three are averaged.
Config averaged(const fs::path& folder, Config config = resnet_config()) {
  config.output.save = true;
  config.output.dir = folder.string();
  config.output.checkpoint_every_steps = 2;
  config.output.keep_checkpoints = 3;
  config.train.average_checkpoints = 3;
  config.train.optimizer.lr = 0.01;
  config.train.steps = 8;
  return config;
}

Outcome train_and_export(const Config& config) {
  return train(config, [&](Trainer& trainer) { trainer.export_model(config.output.dir); });
}

/// The weights file of what one checkpoint holds.
Weights weights_of_checkpoint(Config config, std::int64_t step) {
  config.resume = checkpoint_path(config.output.dir, static_cast<std::uint64_t>(step)).string();
  config.train.average_checkpoints = 0;
  config.train.steps = step;
  config.output.save = false;
  return trained_weights(config);
}

/// Means of f32 tensors, in double; other tensors are the last file's.
Weights compute_mean(const std::vector<Weights>& files) {
  Weights mean = files.back();
  for (auto& [name, bytes] : mean) {
    if (name.ends_with("num_batches_tracked")) continue;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      double sum = 0;
      for (const Weights& weights : files) {
        float value = 0;
        std::memcpy(&value, weights.at(name).data() + at, sizeof value);
        sum += value;
      }
      const auto value = static_cast<float>(sum / static_cast<double>(files.size()));
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
  }
  return mean;
}

bool has_note(const Outcome& outcome, const std::string& text) {
  return std::ranges::any_of(outcome.notes, [&](const std::string& note) { return note.find(text) != note.npos; });
}

TEST(AverageCheckpoints, IsTheMeanOfTheLastOnesBitForBit) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
    const TemporaryDirectory folder;
    Config config = averaged(folder.path());
    config.amp.level = level;
    const Outcome outcome = train_and_export(config);
    std::vector<Weights> files;
    for (const std::int64_t step : {4, 6, 8}) files.push_back(weights_of_checkpoint(config, step));
    ASSERT_NE(files[0], files[2]);
    EXPECT_EQ(read_weights(folder.path()), compute_mean(files));
    EXPECT_TRUE(has_note(outcome, "the weights are the mean of 3 checkpoints, after step 4, 6 and 8"));
  }
}

TEST(AverageCheckpoints, IsWhatIsEvaluatedAtTheEnd) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
    const TemporaryDirectory folder;
    Config config = averaged(folder.path());
    config.amp.level = config.eval.amp = level;
    config.eval.every_steps = 4;
    const Outcome outcome = train_and_export(config);
    ASSERT_EQ(outcome.result.evaluations.size(), 2u);
    Config loaded = config;
    loaded.model.weights = (folder.path() / "model.safetensors").string();
    loaded.output.save = false;
    loaded.train.average_checkpoints = 0;
    double evaluated = 0;
    loaded.resume = "none";
    const DataSettings data = data_settings(loaded);
    const auto training = open_dataset(data, Split::train), evaluation = open_dataset(data, Split::eval);
    const auto model = small_model(loaded, training->info());
    const auto backend = make_test_backend();
    NoteKeeper observer;
    Trainer trainer(loaded, "hash", *backend, *model, *training, evaluation.get(), observer);
    trainer.compile(OutputUse::evaluation);
    trainer.prepare();
    evaluated = trainer.evaluate_now().loss.value();
    EXPECT_EQ(outcome.result.evaluations[1].loss.value(), evaluated);
  }
}

TEST(AverageCheckpoints, LeavesTheTrainingAndItsCheckpointsAsTheyAre) {
  const TemporaryDirectory mean_folder, plain_folder;
  Config config = averaged(mean_folder.path()), plain = averaged(plain_folder.path());
  config.eval.every_steps = plain.eval.every_steps = 4;
  config.output.keep_best = plain.output.keep_best = "loss";
  plain.train.average_checkpoints = 0;
  const Outcome mean = train_and_export(config), last = train_and_export(plain);
  EXPECT_EQ(mean.result.losses, last.result.losses);
  expect_same_state(mean, last);
  ASSERT_NE(read_weights(mean_folder.path()), read_weights(plain_folder.path()));
  if (mean.result.best->step == 8) {
    EXPECT_EQ(read_weights(mean_folder.path() / "best"), read_weights(mean_folder.path()));
  }
  const auto state = load_checkpoint(mean.result.checkpoint).info().state.at("best").at("state");
  EXPECT_EQ(state.at(1).get<double>(), mean.result.best->value) << "the last evaluation is in the checkpoint";
}

TEST(AverageCheckpoints, OfAnInterruptedTrainingIsTheSame) {
  const TemporaryDirectory whole_folder;
  Config config = averaged(whole_folder.path());
  config.train.steps = 9;  // 4, 6, 8 and 9, of which three are kept
  train_and_export(config);
  const Weights whole = read_weights(whole_folder.path());
  for (const std::int64_t stop : {3, 5, 6, 7, 9}) {
    const TemporaryDirectory folder;
    Config part = averaged(folder.path());
    part.train.steps = stop;
    train_and_export(part);
    part.train.steps = 9;
    part.resume = "auto";
    const Outcome outcome = train_and_export(part);
    EXPECT_EQ(read_weights(folder.path()), whole) << stop;
    EXPECT_TRUE(has_note(outcome, "after step 6, 8 and 9")) << stop;
  }
}

TEST(AverageCheckpoints, OfTooFewSaysSo) {
  const TemporaryDirectory folder;
  Config config = averaged(folder.path());
  config.train.steps = 3;
  const Outcome outcome = train_and_export(config);
  EXPECT_EQ(read_weights(folder.path()),
            compute_mean({weights_of_checkpoint(config, 2), weights_of_checkpoint(config, 3)}));
  EXPECT_TRUE(has_note(outcome, "3, but the training writes 2 checkpoints"));
  EXPECT_TRUE(has_note(outcome, "mean of 2 checkpoints, after step 2 and 3; there are no 3 of this training"));
}

TEST(AverageCheckpoints, PassesOverABrokenOne) {
  const TemporaryDirectory folder;
  Config config = averaged(folder.path());
  config.output.keep_checkpoints = 4;
  train_and_export(config);
  fs::resize_file(checkpoint_path(folder.path(), 6), 1000);
  config.resume = "auto";
  const Outcome again = train_and_export(config);
  EXPECT_TRUE(has_note(again, "passed over"));
  EXPECT_TRUE(has_note(again, "after step 2, 4 and 8"));
}

TEST(AverageCheckpoints, OfATrainingThatEndsEarlyIsOfWhatItHas) {
  const TemporaryDirectory folder;
  Config config = averaged(folder.path(), bert_config());
  config.train.optimizer.lr = 1e-30;
  config.train.optimizer.weight_decay = 0;
  config.eval.every_steps = 2;
  config.output.keep_best = "loss";
  config.train.patience = 1;
  const Outcome outcome = train_and_export(config);
  ASSERT_FALSE(outcome.result.ended_early.empty());
  std::vector<std::int64_t> steps;
  for (const EvalResult& one : outcome.result.evaluations) steps.push_back(one.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{2, 4, 4})) << "with the last weights, and with the mean";
  EXPECT_TRUE(has_note(outcome, "after step 2 and 4; there are no 3"));
}

std::vector<Outcome> train_two_ranks(const Config& config) {
  return train_on_ranks(config, 2, [&](Trainer& trainer) { trainer.export_model(config.output.dir); });
}

TEST(AverageCheckpoints, IsTheSameOnRanksThatDivideMomentsOrTables) {
  const TemporaryDirectory whole_folder, divided_folder;
  const auto make = [](const fs::path& folder) {
    Config config = averaged(folder, clicks_config());
    config.model.hash_buckets = 501;
    config.data.batch_size = 8;
    config.dist.reproducible = true;
    config.eval.every_steps = 8;
    return config;
  };
  const Config whole = make(whole_folder.path());
  Config divided = make(divided_folder.path());
  divided.dist.tables = TablePlacement::rows;
  divided.dist.shard = Sharding::optimizer;
  const auto expected = train_two_ranks(whole), outcomes = train_two_ranks(divided);
  const Weights mean = read_weights(divided_folder.path());
  EXPECT_EQ(mean, read_weights(whole_folder.path()));
  EXPECT_EQ(mean, compute_mean({weights_of_checkpoint(whole, 4), weights_of_checkpoint(whole, 6),
                                weights_of_checkpoint(whole, 8)}));
  EXPECT_EQ(outcomes[1].result.evaluations.back().loss, expected[0].result.evaluations.back().loss);
  EXPECT_EQ(outcomes[0].result.evaluations.back().loss, expected[0].result.evaluations.back().loss);
}

TEST(AverageCheckpoints, IsTheSameOnRanksThatDivideMasters) {
  const TemporaryDirectory whole_folder, divided_folder;
  const auto make = [](const fs::path& folder) {
    Config config = averaged(folder, bert_config());
    config.amp.level = config.eval.amp = AmpLevel::O2;
    config.dist.bucket_mb = 1;
    config.eval.every_steps = 8;
    return config;
  };
  Config divided = make(divided_folder.path());
  divided.dist.shard = Sharding::optimizer;
  const auto expected = train_two_ranks(make(whole_folder.path())), outcomes = train_two_ranks(divided);
  EXPECT_EQ(read_weights(divided_folder.path()), read_weights(whole_folder.path()));
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result.evaluations.back().loss, expected[0].result.evaluations.back().loss);
  }
}

}  // namespace
}  // namespace ptrain

// A training in phases: which steps are whose, and that nothing of it depends on where a run was cut.
#include "core/train/phases.h"

#include "core/passes/optimizer.h"
#include "core/train/input/phased_loader.h"
#include "core/train/plans/memory_estimate.h"
#include "tests/error_message.h"
#include "tests/unit/train/data_parallel.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

using Sizes = std::vector<std::int64_t>;

/// 100 samples, batch 10: 10 steps an epoch.
Config hundred_samples() {
  Config config = resnet_config();
  config.data.synthetic_samples = 100;
  config.data.batch_size = 10;
  config.train.steps = 0;
  config.train.epochs = 4;
  return config;
}

StepCounts get_counts(const Config& config) {
  const auto data = open_dataset(data_settings(config), Split::train);
  const auto model = small_model(config, data->info());
  const TrainingPlanOptions options = training_plan_options(config, *model, DType::bf16, Ranks(nullptr));
  return count_steps(config.train, options.phases, options.loader, *data);
}

Sizes first_steps(const StepCounts& counts) {
  Sizes steps;
  for (const TrainingStage& phase : counts.phases) steps.push_back(phase.first_step);
  return steps;
}

Sizes image_sizes(const Config& config) {
  Sizes sizes;
  for (const TrainingStage& phase : configured_phases(config.train, config.data))
    sizes.push_back(phase.images.size.height);
  return sizes;
}

/// 16 px, then 8 px with twice the batch: 8 and 4 steps an epoch.
Config two_phases() {
  Config config = resnet_config();
  config.train.steps = 10;
  config.train.phases.until = {0.5, 1};
  config.train.phases.image_size = {16, 8};
  config.train.phases.batch_size = {4, 8};
  return config;
}

TEST(Phases, OneCoversATrainingThatAsksForNone) {
  const StepCounts counts = get_counts(hundred_samples());
  ASSERT_EQ(counts.phases.size(), 1u);
  EXPECT_EQ(counts.total_steps, 40);
  EXPECT_EQ(counts.position(25).epoch, 2);
  EXPECT_EQ(counts.position(25).step, 5);
  EXPECT_EQ(counts.epochs(25), 2.5);
  EXPECT_TRUE(counts.epoch_ends(30));
  EXPECT_TRUE(counts.epoch_ends(40));
  EXPECT_FALSE(counts.epoch_ends(31));
  EXPECT_EQ(counts.steps_until(1.5), 15);
}

TEST(Phases, SharesAreOfTheDataWhereEpochsAreAskedFor) {
  Config config = hundred_samples();
  config.train.phases.until = {0.5, 1};
  config.train.phases.batch_size = {10, 5};
  const StepCounts counts = get_counts(config);
  EXPECT_EQ(first_steps(counts), (Sizes{0, 20}));  // two epochs of 10 steps, two of 20
  EXPECT_EQ(counts.total_steps, 60);
  EXPECT_EQ(counts.phases[1].lr_scale, 0.5) << "as the batch to data.batch_size";
  EXPECT_EQ(counts.position(20).epoch, 2);
  EXPECT_EQ(counts.position(20).step, 0);
  EXPECT_EQ(counts.position(45).epoch, 3);
  EXPECT_EQ(counts.position(45).step, 5);
  EXPECT_EQ(counts.epochs(50), 3.5);
  EXPECT_EQ(counts.steps_until(1), 10);
  EXPECT_EQ(counts.steps_until(2), 20);
  EXPECT_EQ(counts.steps_until(3), 40);
}

TEST(Phases, ChangeWithinAnEpochWhereTheirShareSaysSo) {
  Config config = hundred_samples();
  config.train.epochs = 1;
  config.train.phases.until = {0.35, 1};
  config.train.phases.batch_size = {10, 5};
  const StepCounts counts = get_counts(config);
  EXPECT_EQ(first_steps(counts), (Sizes{0, 4}));  // 3.5 steps, rounded
  EXPECT_EQ(counts.position(4).step, 8) << "40 samples are done";
  EXPECT_EQ(counts.total_steps, 4 + 12);
  EXPECT_TRUE(counts.epoch_ends(16));
  EXPECT_FALSE(counts.epoch_ends(4));
}

TEST(Phases, EndAtEpochsOrSteps) {
  Config config = hundred_samples();
  config.train.phases.batch_size = {10, 5, 20};
  config.train.phases.until_epoch = {1, 2, 4};
  EXPECT_EQ(first_steps(get_counts(config)), (Sizes{0, 10, 30}));
  EXPECT_EQ(get_counts(config).total_steps, 40);
  config.train.phases.until_epoch = {};
  config.train.phases.until_step = {3, 7, 8};
  EXPECT_EQ(first_steps(get_counts(config)), (Sizes{0, 3, 7}));
  config.train.steps = 9;
  EXPECT_EQ(get_counts(config).total_steps, 9) << "the last continues to the end";
  config.train.steps = 7;
  EXPECT_EQ(get_error([&] { get_counts(config); }, ExitCode::usage),
            "train.phases: phase 3 of 3 has no step: 7 come before it");
}

TEST(Phases, GrowTheImagesByAFewSizes) {
  Config config = resnet_config();
  config.data.image_size = 224;
  EXPECT_EQ(image_sizes(config), Sizes{0});
  config.train.resize.from = 0.5;
  EXPECT_EQ(image_sizes(config), (Sizes{96, 128, 160, 192, 224}));
  const std::vector<TrainingStage> phases = configured_phases(config.train, config.data);
  EXPECT_DOUBLE_EQ(phases[0].until, 0.5 + 0.3 / 4);
  EXPECT_DOUBLE_EQ(phases[3].until, 0.8);
  EXPECT_EQ(phases[4].until, 1);
  config.data.image_size = 32;
  EXPECT_EQ(image_sizes(config), (Sizes{16, 20, 24, 28, 32}));
  config.data.image_size = 512;
  EXPECT_EQ(image_sizes(config), (Sizes{256, 320, 384, 448, 512})) << "few sizes, whatever they grow to";
  config.train.resize.finetune = 0;
  EXPECT_EQ(image_sizes(config), (Sizes{256, 320, 384, 448}));
  config.train.resize.delay = 0.75;
  config.train.resize.finetune = 0.25;
  EXPECT_EQ(image_sizes(config), (Sizes{256, 512})) << "no time to grow in";
}

TEST(Phases, GrowImagesThatAreNoSquaresInProportion) {
  Config config = resnet_config();
  config.data.image_size = {128, 192};
  config.train.resize.from = 0.5;
  std::vector<ImageSize> sizes;
  for (const TrainingStage& phase : configured_phases(config.train, config.data)) sizes.push_back(phase.images.size);
  EXPECT_EQ(sizes, (std::vector<ImageSize>{{64, 96}, {96, 144}, {128, 192}}));
  EXPECT_EQ(phase_text(configured_phases(config.train, config.data)[0]),
            fmt::format("64x96 px, batch {}", config.data.batch_size));
}

TEST(Phases, TrainOneBehindTheOther) {
  Config config = two_phases();
  const Outcome both = train(config);
  EXPECT_EQ(both.result.steps, 10);
  EXPECT_EQ(both.result.status, RunStatus::ok) << both.result.message;
  ASSERT_EQ(both.result.by_phase.size(), 2u);
  EXPECT_EQ(both.result.by_phase[1].steps, 5);
  EXPECT_EQ(both.result.by_phase[1].samples, 5 * 8);
  config.train.phases = {};
  config.train.steps = 5;
  const std::vector<double> alone = losses(config);
  EXPECT_EQ(std::vector<double>(both.result.losses.begin(), both.result.losses.begin() + 5), alone)
      << "the first is the training that has no other";
  ASSERT_EQ(both.notes.size(), 2u);
  EXPECT_EQ(both.notes[0], "phase 1 of 2, from step 1 on: 16 px, batch 4");
  EXPECT_EQ(both.notes[1], "phase 2 of 2, from step 6 on: 8 px, batch 8");
}

TEST(Phases, ScaleTheLearningRate) {
  Config config = two_phases();
  config.train.phases.image_size = {16, 16};
  config.train.phases.batch_size = {};
  config.train.phases.lr_scale = {1, 1e-9};
  const Outcome still = train_and_save(config);
  config.train.phases = {};
  config.train.steps = 5;
  const Outcome first = train_and_save(config);
  const auto weights = [](const Outcome& outcome) {
    const std::vector<std::byte>& bytes = outcome.state.at(flat::master);
    return std::vector<float>(reinterpret_cast<const float*>(bytes.data()),
                              reinterpret_cast<const float*>(bytes.data() + bytes.size()));
  };
  const std::vector<float> a = weights(still), b = weights(first);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6) << "the second phase hardly moves them";
}

TEST(Phases, ResumeBitForBitInEachAndBetweenThem) {
  const TemporaryDirectory directory, again;
  Config config = saved_to(directory, two_phases());
  config.data.augment = Augmentation::crop_flip;
  config.train.phases.until = {0.3, 0.6, 1};  // 3, 6 and 10 steps
  config.train.phases.image_size = {8, 16, 12};
  config.train.phases.batch_size = {8, 4, 4};
  config.output.checkpoint_every_steps = 1;
  config.output.keep_checkpoints = 20;
  const Outcome whole = train(config);
  config.output.dir = again.path().string();
  for (const std::int64_t stop : {1, 3, 5, 6, 8}) {
    config.resume = checkpoint_path(directory.path(), stop).string();
    const Outcome rest = train(config);
    EXPECT_EQ(rest.result.losses, std::vector<double>(whole.result.losses.begin() + stop, whole.result.losses.end()))
        << stop;
    expect_same_state(whole, rest);
  }
}

/// Sparse gradients have as many rows as the batch has ids.
TEST(Phases, TrainTablesInBatchesOfTwoSizes) {
  Config config = clicks_config();
  config.train.steps = 6;
  config.data.batch_size = 8;
  const std::vector<double> alone = losses(config);
  config.train.phases.until = {0.5, 1};
  config.train.phases.batch_size = {8, 32};
  const std::vector<double> growing = losses(config);
  EXPECT_EQ(std::vector(growing.begin(), growing.begin() + 3), std::vector(alone.begin(), alone.begin() + 3));
  config.train.phases.batch_size = {32, 8};
  EXPECT_EQ(losses(config).size(), 6u);
}

TEST(Phases, TakeTheMemoryOfTheLargest) {
  const Config config = two_phases();
  Config largest = config;
  largest.train.phases = {};
  const RunResult both = train(config).result, alone = train(largest).result;
  EXPECT_EQ(both.arena_bytes, alone.arena_bytes);
  EXPECT_EQ(both.variable_bytes, alone.variable_bytes);
}

TEST(Phases, CountTheArithmeticOfWhatRan) {
  const Config config = two_phases();
  Config alone = config;
  alone.train.phases = {};
  EXPECT_LT(train(config).result.flops_per_sample, 0.8 * train(alone).result.flops_per_sample);
}

/// Each step draws 8, 12 or 16 px.
Config several_sizes() {
  Config config = resnet_config();
  config.data.augment = Augmentation::crop_flip;
  config.train.steps = 10;
  config.train.multi_scale = {8, 16, 12};
  return config;
}

TEST(MultiScale, ResumesBitForBit) {
  const TemporaryDirectory directory, again;
  Config config = saved_to(directory, several_sizes());
  config.output.checkpoint_every_steps = 1;
  config.output.keep_checkpoints = 20;
  const Outcome whole = train(config);
  EXPECT_EQ(whole.result.status, RunStatus::ok) << whole.result.message;
  config.output.dir = again.path().string();
  for (const std::int64_t stop : {1, 6}) {
    config.resume = checkpoint_path(directory.path(), stop).string();
    const Outcome rest = train(config);
    EXPECT_EQ(rest.result.losses, std::vector<double>(whole.result.losses.begin() + stop, whole.result.losses.end()));
    expect_same_state(whole, rest);
  }
}

TEST(MultiScale, TakesTheMemoryOfTheLargestAndCountsWhatRan) {
  const Config config = several_sizes();
  Config largest = config;
  largest.train.multi_scale = {16};
  const RunResult all = train(config).result, alone = train(largest).result;
  EXPECT_EQ(all.arena_bytes, alone.arena_bytes);
  EXPECT_LT(all.flops_per_sample, 0.95 * alone.flops_per_sample);
  largest.train.multi_scale = {};
  largest.data.image_size = 16;
  EXPECT_EQ(alone.losses, train(largest).result.losses);
}

TEST(MultiScale, DrawsAlikeForRanksAndMicroBatches) {
  Config config = several_sizes();
  config.dist.reproducible = true;
  const std::vector<double> two = train_on_ranks(config, 2).front().result.losses;
  config.train.accumulate_steps = 2;
  EXPECT_EQ(two, losses(config));
}

TEST(Phases, GiveTwoRanksTheirPartsOfEach) {
  Config config = two_phases();
  config.dist.reproducible = true;
  const std::vector<double> two = train_on_ranks(config, 2).front().result.losses;
  config.train.accumulate_steps = 2;
  EXPECT_EQ(two, losses(config));
}

}  // namespace
}  // namespace ptrain

#include "core/train/schedule.h"

#include "core/train/options_from_config.h"
#include "core/train/phases.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace {

Schedule schedule(ScheduleKind kind, std::int64_t warmup = 0) {
  Schedule s;
  s.name = kind;
  s.lr = 0.8;
  s.end_lr = 0.2;
  s.warmup_steps = warmup;
  s.total_steps = 110;
  return s;
}

TEST(Schedule, WarmsUpInEqualStepsToTheFullRate) {
  for (const ScheduleKind kind : {ScheduleKind::constant, ScheduleKind::cosine, ScheduleKind::linear}) {
    const Schedule s = schedule(kind, 10);
    EXPECT_DOUBLE_EQ(s.at(0), 0.08);
    EXPECT_DOUBLE_EQ(s.at(4), 0.4);
    EXPECT_DOUBLE_EQ(s.at(9), 0.8);
    EXPECT_DOUBLE_EQ(s.at(10), 0.8);
  }
}

TEST(Schedule, ConstantStays) { EXPECT_DOUBLE_EQ(schedule(ScheduleKind::constant).at(1000000), 0.8); }

TEST(Schedule, CosineGoesThroughItsQuarterPoints) {
  const Schedule s = schedule(ScheduleKind::cosine, 10);
  EXPECT_NEAR(s.at(35), 0.2 + 0.6 * 0.5 * (1 + 0.70710678118654752), 1e-12);
  EXPECT_NEAR(s.at(60), 0.5, 1e-12);
  EXPECT_NEAR(s.at(110), 0.2, 1e-12);
  EXPECT_NEAR(s.at(500), 0.2, 1e-12) << "stays at the end";
}

TEST(Schedule, LinearFallsEvenly) {
  const Schedule s = schedule(ScheduleKind::linear, 10);
  EXPECT_NEAR(s.at(35), 0.65, 1e-12);
  EXPECT_NEAR(s.at(60), 0.5, 1e-12);
  EXPECT_NEAR(s.at(110), 0.2, 1e-12);
}

TEST(Schedule, PiecewiseDropsAtItsMilestones) {
  Schedule s = schedule(ScheduleKind::piecewise, 5);
  s.milestone_steps = {30, 60};
  EXPECT_DOUBLE_EQ(s.at(29), 0.8);
  EXPECT_DOUBLE_EQ(s.at(30), 0.8 * 0.1);
  EXPECT_NEAR(s.at(60), 0.8 * 0.01, 1e-15);
}

TEST(Schedule, PolynomialIsPyTorchsAfterWarmUp) {
  Schedule s = schedule(ScheduleKind::polynomial, 10);
  s.power = 2;
  for (const std::int64_t step : {10, 35, 60, 109}) {
    const double left = 1 - static_cast<double>(step - 10) / 100;
    EXPECT_NEAR(s.at(step), 0.2 + 0.6 * left * left, 1e-12) << step;
  }
  EXPECT_NEAR(s.at(110), 0.2, 1e-12);
  EXPECT_NEAR(s.at(500), 0.2, 1e-12);
  // torch.optim.lr_scheduler.PolynomialLR goes from rate to rate: lr *= ((1 - t / T) / (1 - (t - 1) / T))^power.
  s.warmup_steps = 0;
  s.end_lr = 0;
  s.power = 0.7;
  double rate = 0.8;
  for (int t = 1; t < 110; ++t) {
    rate *= std::pow((1 - t / 110.0) / (1 - (t - 1) / 110.0), 0.7);
    EXPECT_NEAR(s.at(t), rate, 1e-12) << t;
  }
}

TEST(Schedule, InverseSquareRootIsVaswanis) {
  const Schedule s = schedule(ScheduleKind::inverse_sqrt, 16);
  for (const std::int64_t step : {0, 7, 15, 16, 63, 1000}) {
    const auto n = static_cast<double>(step + 1);
    EXPECT_NEAR(s.at(step), 0.8 * std::sqrt(16.0) * std::min(1 / std::sqrt(n), n * std::pow(16.0, -1.5)), 1e-12)
        << step;
  }
  EXPECT_NEAR(s.at(63), 0.4, 1e-12) << "half at four times the warm-up";
}

TEST(Schedule, WarmupStableDecayKeepsTheRateAndFallsAtTheEnd) {
  Schedule s = schedule(ScheduleKind::warmup_stable_decay, 10);
  s.stable_ratio = 0.6;
  for (const auto& [shape, middle] : {std::pair{DecayShape::linear, 0.5},
                                      {DecayShape::cosine, 0.5},
                                      {DecayShape::one_minus_sqrt, 1 - std::sqrt(0.5)}}) {
    s.decay_shape = shape;
    EXPECT_DOUBLE_EQ(s.at(4), 0.4);
    EXPECT_DOUBLE_EQ(s.at(10), 0.8);
    EXPECT_DOUBLE_EQ(s.at(70), 0.8) << "the end of its stable part";
    EXPECT_NEAR(s.at(90), 0.2 + 0.6 * middle, 1e-12) << enum_name(shape);
    EXPECT_NEAR(s.at(110), 0.2, 1e-12);
    EXPECT_NEAR(s.at(200), 0.2, 1e-12);
  }
  s.decay_shape = DecayShape::cosine;
  EXPECT_NEAR(s.at(80), 0.2 + 0.6 * 0.5 * (1 + std::sqrt(0.5)), 1e-12);
  s.stable_ratio = 1;
  EXPECT_DOUBLE_EQ(s.at(110), 0.8) << "never falls";
}

TEST(Schedule, IsAllWarmUpWhenWarmUpIsLongerThanTheRun) {
  Schedule s = schedule(ScheduleKind::cosine, 200);
  EXPECT_DOUBLE_EQ(s.at(109), 0.8 * 110 / 200);
  EXPECT_DOUBLE_EQ(s.at(200), 0.8);
}

TEST(Settings, SchedulesCountEpochsAndRatiosInSteps) {
  Config config;
  config.train.optimizer.lr = 0.5;
  config.train.schedule.name = ScheduleKind::piecewise;
  config.train.schedule.milestones = {1.5, 3};
  config.train.schedule.warmup_ratio = 0.1;
  StepCounts counts;
  counts.phases.front().steps_per_epoch = 100;
  counts.total_steps = 400;
  Schedule s = make_schedule(config.train, counts);
  EXPECT_EQ(s.milestone_steps, (std::vector<std::int64_t>{150, 300}));
  EXPECT_EQ(s.warmup_steps, 40);
  config.train.schedule.warmup_steps = 7;
  EXPECT_EQ(make_schedule(config.train, counts).warmup_steps, 7) << "steps win over the ratio";
}

TEST(Settings, ScaleTheLossOnlyForFp16UnlessAsked) {
  Config config;
  const auto scaling = [&] { return training_options(config, DType::bf16).loss_scaling; };
  EXPECT_FALSE(scaling());
  config.amp.level = AmpLevel::O1;
  EXPECT_FALSE(scaling()) << "bf16";
  config.amp.dtype = AmpDType::fp16;
  EXPECT_TRUE(scaling());
  config.amp.scaler.enabled = Tristate::no;
  EXPECT_FALSE(scaling());
  config.amp.level = AmpLevel::O0;
  config.amp.scaler.enabled = Tristate::yes;
  EXPECT_TRUE(scaling());
}

TEST(Settings, DecayNormsAndBiasesOnlyWhenAsked) {
  Config config;
  const PipelineOptions defaults = training_options(config, DType::bf16);
  ASSERT_TRUE(defaults.decays);
  EXPECT_TRUE(defaults.decays("conv1.weight", Shape{64, 3, 3, 4}));
  EXPECT_FALSE(defaults.decays("bn1.weight", Shape{64}));
  config.train.optimizer.decay_norm_and_bias = true;
  EXPECT_FALSE(training_options(config, DType::bf16).decays);
}

}  // namespace
}  // namespace ptrain

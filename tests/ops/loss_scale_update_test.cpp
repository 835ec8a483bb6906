// The dynamic loss scaler: when it grows, shrinks and stays, by function and through its kernel.
#include "core/ops/training/loss_scale_update.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace loss_scale_update_test {

struct Scaler {
  LossScaleAttributes attributes;
  float state[LossScaleState::size] = {1024, 0, 0, 0};
  void step(bool found_inf) { update_loss_scale(state, found_inf, attributes); }
  float scale() const { return state[LossScaleState::scale]; }
};

TEST(LossScaleUpdate, GrowsAfterARunOfGoodSteps) {
  Scaler scaler;
  scaler.attributes.incr_every_n_steps = 3;
  for (int i = 0; i < 2; ++i) scaler.step(false);
  EXPECT_EQ(scaler.scale(), 1024);
  scaler.step(false);
  EXPECT_EQ(scaler.scale(), 2048);
  for (int i = 0; i < 2; ++i) scaler.step(false);
  scaler.step(true);
  EXPECT_EQ(scaler.scale(), 1024) << "an overflow halves it";
  for (int i = 0; i < 2; ++i) scaler.step(false);
  EXPECT_EQ(scaler.scale(), 1024) << "and starts the count again";
}

TEST(LossScaleUpdate, ShrinksAfterBadStepsInARow) {
  Scaler scaler;
  scaler.attributes.decr_every_n_nan_or_inf = 2;
  scaler.step(true);
  scaler.step(false);
  scaler.step(true);
  EXPECT_EQ(scaler.scale(), 1024);
  scaler.step(true);
  EXPECT_EQ(scaler.scale(), 512);
  EXPECT_EQ(scaler.state[LossScaleState::skipped_steps], 3);
}

TEST(LossScaleUpdate, StaysBetweenOneAndTheLargestFloat) {
  Scaler low;
  for (int i = 0; i < 50; ++i) low.step(true);
  EXPECT_EQ(low.scale(), 1);
  Scaler high;
  high.attributes.incr_every_n_steps = 1;
  for (int i = 0; i < 300; ++i) high.step(false);
  EXPECT_TRUE(std::isfinite(high.scale()));
}

TEST(LossScaleUpdate, AStaticScaleOnlyCountsSkips) {
  Scaler scaler;
  scaler.attributes.dynamic = false;
  scaler.step(true);
  EXPECT_EQ(scaler.scale(), 1024);
  EXPECT_EQ(scaler.state[LossScaleState::skipped_steps], 1);
}

TEST(LossScaleUpdate, TheKernelTakesOneStep) {
  for (const double found_inf : {0.0, 1.0}) {
    std::vector<testing::HostTensor> inputs{testing::tensor(DType::f32, {2}, {3.0, found_inf}),
                                            testing::tensor(DType::f32, {4}, {1024, 5, 0, 2})};
    testing::run_op(std::make_shared<LossScaleUpdate>(LossScaleAttributes{}), inputs);
    const std::vector<double> grown{1024, 6, 0, 2}, shrunk{512, 0, 0, 3};
    EXPECT_EQ(inputs[1].values, found_inf == 0.0 ? grown : shrunk);
  }
}

}  // namespace loss_scale_update_test
}  // namespace ptrain

#include "core/exec/kernel_timing.h"

#include "core/base/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <list>

namespace ptrain {
namespace {

/// A clock that launches move themselves.
class FakeTimer final : public LapTimer {
 public:
  void start() override { begun_ = now; }
  void lap() override { lap_ = now - begun_; }
  std::span<const double> seconds() override { return {&lap_, 1}; }

  double warm_up_seconds() const override { return cold; }
  std::int64_t disturbances() const override { return disturbed; }

  double now = 0, cold = 0;
  std::int64_t disturbed = 0;

 private:
  double begun_ = 0, lap_ = 0;
};

class Trial : public ::testing::Test {
 protected:
  /// A candidate whose first launch takes a second more.
  KernelLaunch taking(double seconds) {
    int& launches = launches_.emplace_back(0);
    return [this, seconds, &launches] { timer_.now += seconds + (launches++ == 0 ? 1.0 : 0.0); };
  }
  static void reject() { fail("cannot run"); }

  FakeTimer timer_;
  std::list<int> launches_;
};

TEST_F(Trial, TheFirstLaunchOnlyWarmsUp) {
  const KernelLaunch launch = taking(1e-3);
  EXPECT_NEAR(time_launches(timer_, {&launch, 1}).front(), 1e-3, 1e-9);
}

TEST_F(Trial, ADeviceThatWasIdleIsKeptBusyBeforeItMeasures) {
  timer_.cold = 0.3;
  double clock = 5;  // times slower until it has been busy for 0.3 s
  const KernelLaunch launch = [&] { timer_.now += 1e-3 * (timer_.now > 0.3 ? 1 : clock); };
  EXPECT_NEAR(time_launches(timer_, std::vector<KernelLaunch>{reject, launch}).back(), 1e-3, 1e-9);
  EXPECT_GT(timer_.now, 0.3);
}

TEST_F(Trial, ShortLaunchesAreTimedTogetherAndSlowOnesFewTimes) {
  const std::vector<KernelLaunch> candidates{taking(10e-6), taking(1.0)};
  time_launches(timer_, candidates);
  EXPECT_GT(launches_.front(), 20);
  EXPECT_EQ(launches_.back(), 2);
}

TEST_F(Trial, OneDisturbedSampleDismissesNobody) {
  int launches = 0;
  const KernelLaunch disturbed_once = [&] {
    timer_.now += launches++ == 1 ? 50e-3 : 1e-3;
  };  // the first after warming up
  EXPECT_EQ(find_fastest(timer_, std::vector<KernelLaunch>{taking(2e-3), disturbed_once}), 1u);
}

TEST_F(Trial, SamplesAreTakenUntilTheBestTwoAgree) {
  const std::vector<double> slower{2.1, 5.0, 3.0, 4.2, 2.6, 3.7, 1.0, 1.0};  // times, beside other programs
  std::size_t launches = 0;
  const KernelLaunch launch = [&] { timer_.now += 1e-3 * slower[std::min(launches++, slower.size() - 1)]; };
  EXPECT_NEAR(time_launches(timer_, {&launch, 1}).front(), 1e-3, 1e-9);
}

TEST_F(Trial, DisturbedSamplesThatAgreeAreNotEnough) {
  int launches = 0;
  const KernelLaunch launch = [&] {
    const bool disturbed = launches++ < 8;
    if (disturbed) ++timer_.disturbed;
    timer_.now += disturbed ? 3e-3 : 1e-3;
  };
  EXPECT_EQ(find_fastest(timer_, std::vector<KernelLaunch>{taking(2e-3), launch}), 1u);
}

TEST_F(Trial, TheOrderOfPreferenceStandsUnlessOneIsClearlyFaster) {
  EXPECT_EQ(find_fastest(timer_, std::vector<KernelLaunch>{taking(1e-3), taking(0.99e-3)}), 0u);
  EXPECT_EQ(find_fastest(timer_, std::vector<KernelLaunch>{taking(1e-3), taking(0.9e-3)}), 1u);
}

TEST_F(Trial, WhatCannotRunIsNotChosen) {
  EXPECT_EQ(find_fastest(timer_, std::vector<KernelLaunch>{reject, taking(1.0)}), 1u);
  EXPECT_EQ(find_fastest(timer_, std::vector<KernelLaunch>{reject}), std::nullopt);
}

TEST(TrialValues, AreRandomWithinOneAndZerosOfIntegers) {
  const std::vector<std::byte> bytes = benchmark_values(DType::f32);
  const auto* values = reinterpret_cast<const float*>(bytes.data());
  EXPECT_NE(values[0], values[1]);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_LE(std::abs(values[i]), 1.0f);
  for (const std::byte byte : benchmark_values(DType::i32)) EXPECT_EQ(byte, std::byte{0});
}

}  // namespace
}  // namespace ptrain

#include "core/machine_check/burn_in.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

/// A device on a clock of its own, a second a run; what goes wrong with it begins at `trouble`.
struct Device {
  double now = 0;
  double trouble = 1e9;
  double slower = 1;             // times as long
  std::uint64_t wrong_bits = 0;  // of results
  double noise = 0.001;

  bool in_trouble() const { return now >= trouble; }
  std::vector<BurnInWork> work() {
    return {{1e9,
             [this] {
               runs += 1;
               now += (in_trouble() ? slower : 1) * (1 + noise * static_cast<double>(runs % 3));
             },
             [this] { return 42u ^ (in_trouble() ? wrong_bits : 0); }}};
  }
  BurnInOptions options(double seconds) {
    BurnInOptions options;
    options.seconds = seconds;
    options.clock = [this] { return now; };
    return options;
  }
  int runs = 0;
};

CheckVerdict get_verdict(const std::vector<Check>& checks, std::string_view what) {
  for (const Check& check : checks) {
    if (check.what.starts_with(what)) return check.verdict;
  }
  throw std::runtime_error("no such check");
}

TEST(BurnIn, OfASteadyDeviceIsOk) {
  Device device;
  const BurnInOptions options = device.options(100);
  const BurnInLaps laps = burn_in(device.work(), options);
  EXPECT_GE(laps.seconds, 100);
  EXPECT_GE(laps.rates.size(), 30u);
  EXPECT_NEAR(laps.rates.front(), 1e9, 1e7);
  EXPECT_EQ(get_verdict(check_laps(laps, options), "results"), CheckVerdict::ok);
  EXPECT_EQ(get_verdict(check_laps(laps, options), "rate"), CheckVerdict::ok);
}

TEST(BurnIn, FindsResultsThatChange) {
  Device device{.trouble = 50, .wrong_bits = 1};
  const BurnInOptions options = device.options(100);
  const BurnInLaps laps = burn_in(device.work(), options);
  EXPECT_GT(laps.wrong, 10);
  EXPECT_EQ(get_verdict(check_laps(laps, options), "results"), CheckVerdict::failed);
  EXPECT_EQ(get_verdict(check_laps(laps, options), "rate"), CheckVerdict::ok);
}

TEST(BurnIn, FindsARateThatFallsPastTheBoundAlone) {
  for (const auto& [slower, verdict] : {std::pair(1.1, CheckVerdict::failed), std::pair(1.03, CheckVerdict::ok)}) {
    Device device{.trouble = 50, .slower = slower};
    const BurnInOptions options = device.options(100);
    EXPECT_EQ(get_verdict(check_laps(burn_in(device.work(), options), options), "rate"), verdict) << slower;
  }
}

TEST(BurnIn, DoesNotDecideWhatItCannot) {
  Device noisy{.noise = 0.4};
  const BurnInOptions options = noisy.options(60);
  EXPECT_EQ(get_verdict(check_laps(burn_in(noisy.work(), options), options), "rate"), CheckVerdict::skipped);
  EXPECT_EQ(get_verdict(check_laps({}, options), "results"), CheckVerdict::skipped);
  EXPECT_EQ(get_verdict(check_laps({}, options), "rate"), CheckVerdict::skipped);
}

TEST(BurnIn, EndsWhenItIsStopped) {
  Device device;
  BurnInOptions options = device.options(100);
  std::size_t seen = 0;
  options.after_lap = [&](const BurnInLaps& laps) { seen = laps.rates.size(); };
  options.stopped = [&] { return seen == 3; };
  EXPECT_EQ(burn_in(device.work(), options).rates.size(), 3u);
}

}  // namespace
}  // namespace ptrain

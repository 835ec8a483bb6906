#include "core/train/measure/sensor_watch.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

/// Uses two joules from look to look, always at its power cap, and has no thermometer.
class CountingSensors final : public Sensors {
 public:
  SensorSample sample() const override {
    SensorSample seen;
    seen.watts = 400.5;
    seen.joules = 2.0 * static_cast<double>(looks_++);
    seen.throttle_reasons = 0x4;
    return seen;
  }
  const Reasons& throttle_reasons() const override {
    static const Reasons reasons{{"power_cap", 0x4}, {"thermal", 0x20}};
    return reasons;
  }

 private:
  mutable std::int64_t looks_ = 0;
};

TEST(SensorWatch, SummarisesWhatItSawSinceItStarted) {
  SensorWatch watch(std::make_unique<CountingSensors>(), std::chrono::milliseconds(1));
  EXPECT_FALSE(watch.stop().has_value());
  for (int round = 0; round < 2; ++round) {
    watch.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const GpuReport seen = watch.stop().value();
    ASSERT_GE(seen.samples, 3);
    EXPECT_DOUBLE_EQ(seen.power_watts->mean, 400.5);
    EXPECT_DOUBLE_EQ(seen.energy_joules.value(), 2.0 * static_cast<double>(seen.samples - 1));
    EXPECT_FALSE(seen.temperature_celsius.has_value());
    EXPECT_DOUBLE_EQ(seen.throttled.at("power_cap"), 1.0);
    EXPECT_DOUBLE_EQ(seen.throttled.at("thermal"), 0.0);
  }
  EXPECT_FALSE(watch.stop().has_value());
}

}  // namespace
}  // namespace ptrain

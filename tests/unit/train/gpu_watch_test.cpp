#include "core/train/measure/gpu_watch.h"

#include "tests/error_message.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

constexpr const char* fake = PTRAIN_FAKE_NVML;

std::string message_of_opening(const std::string& pci_bus_id, const char* library) {
  return error_of([&] { const Nvml nvml(pci_bus_id, library); });
}

TEST(Nvml, ReadsWhatTheLibraryTellsInUnits) {
  const Nvml gpu("0000:3b:00.0", fake);
  const GpuSample sample = gpu.sample();
  EXPECT_DOUBLE_EQ(sample.watts.value(), 400.5);
  EXPECT_DOUBLE_EQ(sample.sm_mhz.value(), 1701);
  EXPECT_DOUBLE_EQ(sample.memory_mhz.value(), 2602);
  EXPECT_FALSE(sample.celsius.has_value());  // the fake knows none
  EXPECT_GT(gpu.sample().joules.value(), sample.joules.value());
}

TEST(Nvml, SaysWhatIsMissing) {
  EXPECT_EQ(message_of_opening("0000:3b:00.0", "libnone.so.1"), "libnone.so.1: cannot be loaded");
  EXPECT_EQ(message_of_opening("0000:3b:00.0", "libz.so.1"), "the NVIDIA management library has no nvmlInit_v2");
  EXPECT_NE(message_of_opening("0000:ff:00.0", fake).find("knows no GPU 0000:ff:00.0"), std::string::npos);
}

TEST(GpuWatch, SummarisesWhatItSawSinceItStarted) {
  GpuWatch watch(std::make_unique<Nvml>("0000:3b:00.0", fake), std::chrono::milliseconds(1));
  EXPECT_FALSE(watch.stop().has_value());
  for (int round = 0; round < 2; ++round) {
    watch.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const GpuReport seen = watch.stop().value();
    ASSERT_GE(seen.samples, 3);
    EXPECT_DOUBLE_EQ(seen.power_watts->mean, 400.5);
    // The fake's counter grows by two joules a look; the first look of all is its zero.
    EXPECT_DOUBLE_EQ(seen.energy_joules.value(), 2.0 * static_cast<double>(seen.samples - 1));
    EXPECT_FALSE(seen.temperature_celsius.has_value());
    EXPECT_DOUBLE_EQ(seen.throttled.at("power_cap"), 1.0);
    EXPECT_DOUBLE_EQ(seen.throttled.at("thermal"), 0.0);
  }
  EXPECT_FALSE(watch.stop().has_value());
}

}  // namespace
}  // namespace ptrain

#include "core/cuda/device/nvml.h"

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
  const SensorSample sample = gpu.sample();
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

TEST(Nvml, NamesTheReasonsOfThrottling) {
  const Nvml gpu("0000:3b:00.0", fake);
  EXPECT_EQ(gpu.throttle_reasons().front(), (std::pair<std::string_view, std::uint64_t>("power_cap", 0x4)));
  EXPECT_EQ(gpu.sample().throttle_reasons & 0x4, 0x4u);
}

}  // namespace
}  // namespace ptrain

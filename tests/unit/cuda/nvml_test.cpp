#include "core/cuda/device/nvml.h"

#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ptrain {
namespace {

constexpr const char* fake = PTRAIN_FAKE_NVML;

std::string message_of_opening(const std::string& pci_bus_id, const char* library) {
  return get_error([&] { const Nvml nvml(pci_bus_id, library); });
}

TEST(Nvml, ReadsWhatTheLibraryReportsInUnits) {
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
  EXPECT_NE(message_of_opening("0000:ff:00.0", fake).find("found no GPU 0000:ff:00.0"), std::string::npos);
}

TEST(Nvml, NamesTheReasonsOfThrottling) {
  const Nvml gpu("0000:3b:00.0", fake);
  EXPECT_EQ(gpu.throttle_reasons().front(), (std::pair<std::string_view, std::uint64_t>("power_cap", 0x4)));
  EXPECT_EQ(gpu.sample().throttle_reasons & 0x4, 0x4u);
}

TEST(Nvml, ReportsTheConditionInUnits) {
  const DeviceCondition c = Nvml("0000:3b:00.0", fake).condition();
  EXPECT_EQ(c.new_memory_errors, 0);
  EXPECT_EQ(c.pcie_width, 16);
  EXPECT_EQ(c.most_pcie_generation, 5);
  EXPECT_EQ(c.links, 18);
  EXPECT_EQ(c.most_links, 18);
  EXPECT_DOUBLE_EQ(c.link_bandwidth.value(), 26.562e9);
  EXPECT_DOUBLE_EQ(c.power_limit.value(), 700);
  EXPECT_EQ(c.most_sm_mhz, 1980);
}

TEST(Nvml, ReportsWhatIsWrongAndNothingThatItDoesNotKnow) {
  setenv("FAKE_NVML", "new_errors=2,all_errors=-1,pcie_width=4,links=12,link_speed=-1,remap_pending=1", 1);
  const DeviceCondition c = Nvml("0000:3b:00.0", fake).condition();
  setenv("FAKE_NVML", "links=-1", 1);
  const DeviceCondition none = Nvml("0000:3b:00.0", fake).condition();
  unsetenv("FAKE_NVML");
  EXPECT_EQ(c.new_memory_errors, 2);
  EXPECT_FALSE(c.all_memory_errors);
  EXPECT_EQ(c.pcie_width, 4);
  EXPECT_EQ(c.links, 12);
  EXPECT_EQ(c.most_links, 18);
  EXPECT_FALSE(c.link_bandwidth);
  EXPECT_EQ(c.rows_to_remap, 1);
  EXPECT_FALSE(none.links);
}

}  // namespace
}  // namespace ptrain

// Limits of control groups, from trees of files as the kernel shows them.
#include "core/base/control_group.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t mib = 1 << 20;

class ControlGroup : public testing::Test {
 protected:
  ControlGroup() { fs::create_directories(root()); }
  ~ControlGroup() override { fs::remove_all(folder_); }

  fs::path root() const { return folder_ / "cgroup"; }

  void put(const std::string& name, const std::string& content) const {
    fs::create_directories((root() / name).parent_path());
    std::ofstream(root() / name) << content << '\n';
  }

  /// For a process whose /proc/self/cgroup is `membership`.
  ControlGroupLimits limits(const std::string& membership) const {
    std::ofstream(folder_ / "self") << membership;
    return control_group_limits(root(), folder_ / "self");
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     (std::string("groups_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ControlGroup, WithoutLimitsThereAreNone) {
  put("cpu.max", "max 100000");
  put("a/cpu.max", "max 100000");
  put("a/memory.max", "max");
  put("memory/memory.limit_in_bytes", "9223372036854771712");
  put("cpu/cpu.cfs_quota_us", "-1");
  put("cpu/cpu.cfs_period_us", "100000");
  for (const char* membership : {"0::/a\n", "4:memory:/\n1:cpu:/\n0::/\n", "", "nonsense\n"}) {
    const ControlGroupLimits found = limits(membership);
    EXPECT_FALSE(found.cpus) << membership;
    EXPECT_FALSE(found.memory_bytes) << membership;
    EXPECT_FALSE(found.memory_bytes_to_take) << membership;
  }
  EXPECT_FALSE(control_group_limits(root() / "absent", root() / "absent").cpus);
}

TEST_F(ControlGroup, TheTightestOfNestedGroupsHolds) {
  put("slice/cpu.max", "150000 100000");
  put("slice/memory.max", std::to_string(600 * mib));
  put("slice/memory.current", std::to_string(500 * mib));
  put("slice/job/cpu.max", "400000 100000");
  put("slice/job/memory.max", std::to_string(400 * mib));
  put("slice/job/memory.current", std::to_string(100 * mib));
  const ControlGroupLimits found = limits("0::/slice/job\n");
  EXPECT_DOUBLE_EQ(found.cpus.value(), 1.5);
  EXPECT_EQ(found.memory_bytes.value(), 400 * mib);
  EXPECT_EQ(found.memory_bytes_to_take.value(), 100 * mib);  // the slice's other groups have taken the rest
}

TEST_F(ControlGroup, PageCacheIsNotUsed) {
  put("job/memory.max", std::to_string(400 * mib));
  put("job/memory.current", std::to_string(390 * mib));
  put("job/memory.stat", "anon 90\nfile 999\nactive_file " + std::to_string(100 * mib) + "\ninactive_file " +
                             std::to_string(200 * mib) + "\n");
  EXPECT_EQ(limits("0::/job\n").memory_bytes_to_take.value(), 310 * mib);
  put("memory/job/memory.limit_in_bytes", std::to_string(400 * mib));
  put("memory/job/memory.usage_in_bytes", std::to_string(350 * mib));
  put("memory/job/memory.stat", "inactive_file 5\ntotal_inactive_file " + std::to_string(100 * mib) + "\n");
  EXPECT_EQ(limits("4:memory:/job\n").memory_bytes_to_take.value(), 150 * mib);
}

TEST_F(ControlGroup, VersionOneHasAQuotaToo) {
  put("cpu,cpuacct/slice/job/cpu.cfs_quota_us", "-1");
  put("cpu,cpuacct/slice/job/cpu.cfs_period_us", "100000");
  put("cpu,cpuacct/slice/cpu.cfs_quota_us", "250000");
  put("cpu,cpuacct/slice/cpu.cfs_period_us", "100000");
  put("memory/slice/memory.limit_in_bytes", std::to_string(64 * mib));
  const ControlGroupLimits found = limits("6:cpu,cpuacct:/slice/job\n5:memory:/slice/job\n0::/\n");
  EXPECT_DOUBLE_EQ(found.cpus.value(), 2.5);
  EXPECT_EQ(found.memory_bytes_to_take.value(), 64 * mib);
}

TEST_F(ControlGroup, AContainerSeesItsOwnGroupAsTheRoot) {
  put("cpu.max", "50000 100000");
  put("memory.max", std::to_string(32 * mib));
  for (const char* membership : {"0::/docker/0123456789\n", "0::/../other\n", "0::/\n"}) {
    EXPECT_DOUBLE_EQ(limits(membership).cpus.value(), 0.5) << membership;
    EXPECT_EQ(limits(membership).memory_bytes.value(), 32 * mib) << membership;
  }
}

}  // namespace
}  // namespace ptrain

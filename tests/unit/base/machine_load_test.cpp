// What other programs did meanwhile, from files as the kernel shows them.
#include "core/base/machine_load.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace ptrain {
namespace {

class MachineLoad : public testing::Test {
 protected:
  ~MachineLoad() override { std::filesystem::remove(file_); }

  /// Every core of the test is at `ticks` of user time and `stolen` of the hypervisor's.
  void put(int ticks, int stolen) const {
    std::ofstream file(file_);
    file << "cpu  1 2 3 4 5 6 7 8 0 0\n";
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      file << "cpu" << core << ' ' << ticks << " 0 0 900 0 0 0 " << stolen << " 0 0\n";
    }
    file << "intr 5 0 0\n";
  }

  const std::filesystem::path file_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("stat_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(MachineLoad, IsWhatTheKernelCountsWithoutThisProcess) {
  put(0, 0);
  const LoadWatch watch(file_);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  put(1000, 500);
  const std::optional<OtherLoad> load = watch.measure();
  ASSERT_TRUE(load);
  // Of each core 10 s and 5 s, within three tenths of a second or more.
  EXPECT_NEAR(load->cores / load->stolen_cores, 2, 0.1);
  EXPECT_LE(load->cores, load->usable_cores * 10 / 0.3);
  EXPECT_GT(load->cores, 0);
}

TEST_F(MachineLoad, IsUnknownAtOnceAndWithoutTheFile) {
  put(0, 0);
  EXPECT_FALSE(LoadWatch(file_).measure());
  const LoadWatch watch(file_.string() + ".none");
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_FALSE(watch.measure());
}

TEST(OtherLoad, SlowsWhereFewerCoresThanThreadsAreLeft) {
  const OtherLoad one_of_four{1, 0, 4};
  EXPECT_TRUE(one_of_four.slows(4));
  EXPECT_FALSE(one_of_four.slows(3));
  EXPECT_FALSE((OtherLoad{0.1, 0, 4}.slows(4)));
  EXPECT_FALSE((OtherLoad{0.1, 0, 4}.slows(8)));
  EXPECT_TRUE((OtherLoad{0, 1, 4}.slows(4)));
  EXPECT_EQ((OtherLoad{1.93, 0, 2}.text()), "other programs kept 1.9 of 2 cores busy");
  EXPECT_EQ((OtherLoad{0, 0.5, 2}.text()),
            "other programs kept 0.0 of 2 cores busy, and the hypervisor gave 0.5 to other machines");
}

}  // namespace
}  // namespace ptrain

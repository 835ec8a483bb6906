#include "core/base/crowding.h"

#include "core/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace ptrain {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Threads that compute, three for each core.
class BusyThreads {
 public:
  BusyThreads() {
    for (int i = 0; i < 3 * omp_get_num_procs(); ++i) {
      threads_.emplace_back([this] {
        while (!ended_) {
        }
      });
    }
  }
  ~BusyThreads() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::vector<std::thread> threads_;
};

/// Computes until `condition` holds, at most for `longest`; whether it does.
template <typename Condition>
bool compute_until(Condition condition, Clock::duration longest) {
  for (const auto begin = Clock::now(); Clock::now() - begin < longest;) {
    if (condition()) return true;
  }
  return false;
}

TEST(Crowding, IsNoticedBesideBusyThreads) {
  if (!std::filesystem::exists("/proc/self/schedstat"))
    GTEST_SKIP() << "this kernel does not say how long threads wait";
  for (const char* choice : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}) ::unsetenv(choice);  // they would hold
  const int threads = thread_count();
  ASSERT_EQ(set_thread_count(2), 2);
  {
    Crowding crowding;
    EXPECT_FALSE(crowding.shortens_spinning());
    const BusyThreads busy;
    EXPECT_TRUE(compute_until(
        [&] {
          crowding.observe();
          return crowding.shortens_spinning();
        },
        30s));
  }
  set_thread_count(threads);
}

TEST(Crowding, IsNothingToAThreadThatComputesAlone) {
  const int threads = thread_count();
  set_thread_count(1);
  Crowding crowding;
  const BusyThreads busy;
  EXPECT_FALSE(compute_until(
      [&] {
        crowding.observe();
        return crowding.shortens_spinning();
      },
      1s));
  set_thread_count(threads);
}

}  // namespace
}  // namespace ptrain

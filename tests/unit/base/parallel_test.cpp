#include "core/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace ptrain {
namespace {

void expect_each_once(std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    ASSERT_LT(begin, end);
    for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
  });
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(visits[static_cast<std::size_t>(i)], 1) << "index " << i << " of " << count << ", grain " << grain;
  }
}

class ParallelFor : public ::testing::Test {
 protected:
  ~ParallelFor() override { set_thread_count(threads_); }
  const int threads_ = thread_count();
};

TEST_F(ParallelFor, CoversEachIndexOnceForAnyThreadCount) {
  for (const int threads : {1, 2, 3, 4, 7, 16}) {
    set_thread_count(threads);
    for (const std::int64_t count : {0, 1, 2, 3, 5, 16, 17, 1000, 4097}) {
      for (const std::int64_t grain : {0, 1, 3, 1000}) expect_each_once(count, grain);
    }
  }
}

TEST_F(ParallelFor, StaysOnThisThreadBelowTheGrain) {
  set_thread_count(4);
  int calls = 0;
  parallel_for(99, 50, [&](std::int64_t begin, std::int64_t end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 99);
  });
  EXPECT_EQ(calls, 1);
}

TEST_F(ParallelFor, CoversEachIndexInsideAnotherParallelRegion) {
  set_thread_count(4);
  std::vector<std::atomic<int>> visits(4 * 100);
  parallel_for(4, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(row * 100 + i)];
      });
    }
  });
  for (const auto& count : visits) ASSERT_EQ(count, 1);
}

}  // namespace
}  // namespace ptrain

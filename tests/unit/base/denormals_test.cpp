#include "core/base/denormals.h"

#include "core/base/parallel.h"
#include "core/base/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace ptrain {
namespace {

/// Half the least normalised number, computed when asked.
float half_of_least() {
  volatile float least = std::numeric_limits<float>::min();
  return least * 0.5f;
}

TEST(Denormals, AreZeroInTheThreadAndThoseItStarts) {
  std::thread computing = start_thread([] {
    EXPECT_GT(half_of_least(), 0.0f);
    flush_denormals();
    EXPECT_EQ(half_of_least(), 0.0f);
    volatile float denormal = std::numeric_limits<float>::denorm_min();
    EXPECT_EQ(denormal * 1e30f, 0.0f);
    std::vector<float> halves(1024, 1.0f);
    parallel_for(std::ssize(halves), 1, [&](std::int64_t first, std::int64_t last) {
      std::fill(halves.begin() + first, halves.begin() + last, half_of_least());
    });
    EXPECT_EQ(std::ranges::count(halves, 0.0f), std::ssize(halves));
    start_thread([] { EXPECT_EQ(half_of_least(), 0.0f); }).join();
  });
  computing.join();
  EXPECT_GT(half_of_least(), 0.0f);
}

}  // namespace
}  // namespace ptrain

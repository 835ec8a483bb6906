// Runs the device tests, or says why it cannot and returns what ctest takes for skipped.
#include "core/cuda/backend.h"

#include <gtest/gtest.h>

#include <iostream>

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  ::testing::InitGoogleTest(&argc, argv);
  const std::string reason = ptrain::cuda::unavailable_reason();
  if (!reason.empty() && !::testing::GTEST_FLAG(list_tests)) {
    std::cout << "skipped: " << reason << '\n';
    return skipped;
  }
  return RUN_ALL_TESTS();
}

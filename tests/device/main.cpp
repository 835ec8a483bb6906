// Runs the device tests, or says why it cannot and returns what ctest takes for skipped.
#include "core/cuda/cuda_backend.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  ::testing::InitGoogleTest(&argc, argv);
  const std::string reason = ptrain::cuda::unavailable_reason();
  if (!reason.empty() && !::testing::GTEST_FLAG(list_tests)) {
    std::cout << "skipped: " << reason << '\n';
    return skipped;
  }
  const ptrain::TemporaryDirectory cache;  // what other runs found and compiled must not help
  setenv("PTRAIN_CACHE_DIR", cache.path().c_str(), 1);
  return RUN_ALL_TESTS();
}

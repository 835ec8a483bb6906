#include "core/cpu/constant_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace ptrain::cpu {
namespace {

/// Sizes below, at and above what returns to the system at once.
TEST(ConstantMemory, IsAlignedAndNobodyElses) {
  const std::vector<std::size_t> sizes{1, 64, 100, std::size_t{3} << 20, std::size_t{9} << 20, std::size_t{6} << 20,
                                       65};
  std::vector<std::shared_ptr<std::byte>> all;
  for (const std::size_t size : sizes) {
    all.push_back(allocate_constant(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back().get()) % 64, 0U) << size;
    std::memset(all.back().get(), static_cast<int>(all.size()), size);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<std::byte> expected(sizes[i], static_cast<std::byte>(i + 1));
    EXPECT_EQ(std::memcmp(all[i].get(), expected.data(), sizes[i]), 0) << sizes[i];
  }
}

TEST(ConstantMemory, SmallOnesLieTogetherAndOutliveEachOther) {
  std::shared_ptr<std::byte> first = allocate_constant(64);
  const std::shared_ptr<std::byte> second = allocate_constant(64);
  EXPECT_EQ(second.get() - first.get(), 64);
  first.reset();
  std::memset(second.get(), 1, 64);
}

}  // namespace
}  // namespace ptrain::cpu

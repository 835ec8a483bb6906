// Every op that has a CPU kernel has a CUDA kernel, and the other way round.
#include "core/cpu/registry.h"
#include "core/cuda/registry.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(CudaRegistry, HasTheCpusOps) { EXPECT_EQ(cuda::kernel_names(), cpu::kernel_names()); }

TEST(CudaRegistry, FindsWhatItLists) {
  for (const std::string_view name : cuda::kernel_names()) EXPECT_NE(cuda::find_kernel(name), nullptr) << name;
  EXPECT_EQ(cuda::find_kernel("no_such_op"), nullptr);
}

}  // namespace
}  // namespace ptrain

// Every op of the list has a CUDA kernel: this links, and finds them all.
#include "core/cuda/cuda_kernel_registry.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(CudaRegistry, FindsEveryOp) {
  for (const std::string_view name : op_names) EXPECT_NE(cuda::find_kernel(name), nullptr) << name;
  EXPECT_EQ(cuda::find_kernel("no_such_op"), nullptr);
}

}  // namespace
}  // namespace ptrain

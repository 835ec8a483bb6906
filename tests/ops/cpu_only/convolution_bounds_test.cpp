// Implementations of convolutions write their result and nothing else.
#include "tests/ops/forced_kernel.h"

#include "core/ops/image/conv2d.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain::testing {
namespace convolution_bounds_test {

constexpr std::size_t guard = 1 << 16;  // bytes after each buffer
constexpr std::byte untouched{0xAB};

/// Where kernels of that implementation write past a result of [2, pixels, 1, 64]; nowhere, where there is none.
std::vector<std::int64_t> find_overruns(const std::string& implementation) {
  std::vector<std::int64_t> found;
  const AskedForKernel asked(implementation);
  for (std::int64_t pixels = 24; pixels <= 50; ++pixels) {
    const Conv2d op(Conv2dAttributes{});
    const std::vector<TensorDesc> inputs{{DType::bf16, Shape{2, pixels, 1, 64}}, {DType::bf16, Shape{64, 1, 1, 64}}};
    const std::vector<TensorDesc> outputs = op.infer(inputs);
    const std::unique_ptr<Kernel> kernel = cpu::find_kernel(op.type())({op, inputs, outputs});
    if (!kernel->record().implementation.starts_with(implementation)) continue;
    const auto buffer = [](std::size_t bytes) { return std::vector<std::byte>(bytes + guard, untouched); };
    std::vector<std::byte> x = buffer(inputs[0].bytes()), w = buffer(inputs[1].bytes()), y = buffer(outputs[0].bytes()),
                           workspace = buffer(kernel->workspace_bytes());
    const std::vector<void*> from{x.data(), w.data()}, to{y.data()};
    kernel->run({from, to, workspace.data()});
    const auto is_whole = [](const std::vector<std::byte>& bytes) {
      return std::all_of(bytes.end() - guard, bytes.end(), [](std::byte byte) { return byte == untouched; });
    };
    if (!is_whole(y) || !is_whole(workspace)) found.push_back(pixels);
  }
  return found;
}

TEST(ConvolutionBounds, AreKeptByEveryImplementationForFiltersOfOnePixel) {
  for (const char* implementation : {"jit_1x1:", "jit:", "brgconv_1x1:", "brgconv:"}) {
    EXPECT_EQ(find_overruns(implementation), std::vector<std::int64_t>{}) << implementation;
  }
}

}  // namespace convolution_bounds_test
}  // namespace ptrain::testing

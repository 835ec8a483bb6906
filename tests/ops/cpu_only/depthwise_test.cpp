// The own weight gradient of depthwise convolutions against naive sums in double precision.
#include "tests/ops/forced_kernel.h"
#include "tests/ops/reference/conv2d.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace depthwise_test {

constexpr const char* name = "native:depthwise";

class Depthwise : public ::testing::TestWithParam<Conv2dProblem> {};

TEST_P(Depthwise, GivesTheWeightGradientInEveryDtype) {
  const Conv2dProblem& p = GetParam();
  const AskedForKernel asked(name);
  for (const DType data : {DType::f32, DType::bf16, DType::f16}) {
    for (const DType weights : {DType::f32, data}) {
      const HostTensor x = random_tensor(data, p.x, 1), dy = random_tensor(data, p.y(), 3);
      const TensorDesc w{weights, p.w};
      const Conv2dGradWeight op(Conv2dGradWeightAttributes{p.conv, w});
      EXPECT_EQ(get_implementation(op, {x.desc, dy.desc}), name);
      const std::vector<double> expected = reference_conv2d_grad_weight(p.conv, x, dy, p.w);
      std::vector<HostTensor> inputs{x, dy};
      const HostTensor result =
          run_op(std::make_shared<Conv2dGradWeight>(Conv2dGradWeightAttributes{p.conv, w}), inputs)[0];
      ASSERT_EQ(result.desc, w);
      const double limit = weights == DType::f32 ? tolerance(DType::f32) : tolerance(data) / 4;  // rounded once
      expect_close(result.values, expected, limit, name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Depthwise,
    ::testing::Values(Conv2dProblem{{2, 9, 8, 20}, {20, 3, 3, 1}, {.stride = 2, .padding = 1, .groups = 20}},
                      Conv2dProblem{{2, 7, 9, 80}, {80, 5, 5, 1}, {.padding = 2, .groups = 80}},  // two tasks' channels
                      Conv2dProblem{{1, 4, 5, 16}, {16, 7, 7, 1}, {.padding = 3, .groups = 16}},  // mostly padding
                      Conv2dProblem{{1, 9, 9, 16}, {16, 3, 3, 1}, {.groups = 16}},                // no padding
                      Conv2dProblem{{1, 1, 1, 5}, {5, 3, 3, 1}, {.stride = 2, .padding = 1, .groups = 5}},
                      // rows that do not fit the buffer at once, and parts of images to each thread
                      Conv2dProblem{{3, 40, 61, 32}, {32, 5, 5, 1}, {.stride = 2, .padding = 2, .groups = 32}}),
    case_name);

TEST(DepthwiseKernel, IsForNothingElse) {
  const AskedForKernel asked(name);
  const auto chosen = [](const Conv2dProblem& p) {
    const Conv2dGradWeight op(Conv2dGradWeightAttributes{p.conv, {DType::f32, p.w}});
    return get_implementation(op, {{DType::f32, p.x}, {DType::f32, p.y()}});
  };
  EXPECT_NE(chosen({{1, 8, 8, 16}, {16, 3, 3, 2}, {.padding = 1, .groups = 8}}), name);
  EXPECT_NE(chosen({{1, 8, 8, 16}, {32, 3, 3, 1}, {.padding = 1, .groups = 16}}), name);
  EXPECT_NE(chosen({{1, 8, 8, 16}, {16, 3, 3, 1}, {.padding = 2, .groups = 16, .dilation = 2}}), name);
  EXPECT_NE(chosen({{1, 8, 8, 16}, {16, 4, 4, 1}, {.padding = 1, .groups = 16}}), name);
  EXPECT_NE(chosen({{1, 8, 8, 16}, {16, 1, 1, 1}, {.groups = 16}}), name);
}

}  // namespace depthwise_test
}  // namespace ptrain::testing

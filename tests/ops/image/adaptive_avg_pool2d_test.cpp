#include "core/ops/image/adaptive_avg_pool2d.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/adaptive_avg_pool2d.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace adaptive_avg_pool2d_test {

struct Problem {
  Shape x;
  std::int64_t size;
};
void PrintTo(const Problem& p, std::ostream* out) { *out << p.x.to_string() << " to " << p.size; }

class AdaptiveAvgPool2dCases : public ::testing::TestWithParam<Problem> {};

TEST_P(AdaptiveAvgPool2dCases, AgreeWithReferenceInEveryDtype) {
  const auto& [x, size] = GetParam();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<AdaptiveAvgPool2d>(AdaptiveAvgPool2dAttributes{size}),
              .inputs = {random_tensor(dtype, x, 1)},
              .reference =
                  [size = size](const auto& in) {
                    return std::vector<std::vector<double>>{reference_adaptive_avg_pool2d(size, in[0])};
                  },
              .gradient_inputs = {0}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AdaptiveAvgPool2dCases,
                         ::testing::Values(Problem{{2, 7, 7, 16}, 7},    // each pixel for itself
                                           Problem{{2, 6, 4, 19}, 2},    // whole windows
                                           Problem{{1, 10, 8, 3}, 7},    // windows that overlap
                                           Problem{{2, 1, 2, 32}, 7},    // pixels that are read several times
                                           Problem{{1, 3, 11, 16}, 5}),  // both
                         case_name);

TEST(AdaptiveAvgPool2d, MakesARowOfEachImage) {
  const std::vector<TensorDesc> images{{DType::bf16, {3, 4, 5, 8}}};
  EXPECT_EQ(AdaptiveAvgPool2d({2}).infer(images).front(), (TensorDesc{DType::bf16, {3, 2 * 2 * 8}}));
  EXPECT_THROW(AdaptiveAvgPool2d({0}).infer(images), std::invalid_argument);
  EXPECT_THROW(AdaptiveAvgPool2d({2}).infer(std::vector<TensorDesc>{{DType::f32, {3, 8}}}), std::invalid_argument);
}

}  // namespace adaptive_avg_pool2d_test
}  // namespace ptrain::testing

#include "core/ops/image/blur_pool2d.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/blur_pool2d.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace blur_pool2d_test {

class BlurPool2dCases : public ::testing::TestWithParam<Shape> {};

TEST_P(BlurPool2dCases, AgreeWithReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(
        {.op = std::make_shared<BlurPool2d>(BlurPool2dAttributes{}),
         .inputs = {random_tensor(dtype, GetParam(), 1)},
         .reference = [](const auto& in) { return std::vector<std::vector<double>>{reference_blur_pool2d(in[0])}; },
         .gradient_inputs = {0}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlurPool2dCases,
                         ::testing::Values(Shape{2, 6, 8, 16}, Shape{1, 7, 5, 20}, Shape{1, 2, 3, 3},
                                           Shape{1, 1, 4, 17}, Shape{2, 1, 1, 5}),
                         case_name);

TEST(BlurPool2d, TakesImagesAlone) {
  const std::vector<TensorDesc> x{{DType::f32, {4, 4, 1}}};
  EXPECT_THROW(BlurPool2d(BlurPool2dAttributes{}).infer(x), std::invalid_argument);
}

}  // namespace blur_pool2d_test
}  // namespace ptrain::testing

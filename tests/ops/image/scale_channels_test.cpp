#include "core/ops/image/scale_channels.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/scale_channels.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace scale_channels_test {

class ScaleChannelsCases : public ::testing::TestWithParam<Shape> {};

TEST_P(ScaleChannelsCases, AgreeWithReferenceInEveryDtype) {
  const Shape& x = GetParam();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(
        {.op = std::make_shared<ScaleChannels>(),
         .inputs = {random_tensor(dtype, x, 1), random_tensor(dtype, {x[0], x[3]}, 2)},
         .reference =
             [](const auto& in) { return std::vector<std::vector<double>>{reference_scale_channels(in[0], in[1])}; },
         .gradient_inputs = {ScaleChannels::x, ScaleChannels::factors}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScaleChannelsCases,
                         ::testing::Values(Shape{1, 1, 1, 3}, Shape{2, 3, 3, 32}, Shape{3, 4, 2, 19}), case_name);

TEST(ScaleChannels, RefusesFactorsOfOtherImages) {
  const std::vector<TensorDesc> inputs{{DType::f32, {2, 3, 3, 8}}, {DType::f32, {1, 8}}};
  EXPECT_THROW(ScaleChannels().infer(inputs), std::invalid_argument);
}

}  // namespace scale_channels_test
}  // namespace ptrain::testing

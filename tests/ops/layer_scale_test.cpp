#include "core/ops/normalization/layer_scale.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace layer_scale_test {

class LayerScaleCases : public ::testing::TestWithParam<Shape> {};

TEST_P(LayerScaleCases, AgreesWithReferenceInEveryDtype) {
  const Shape& x = GetParam();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<LayerScale>(),
              .inputs = {random_tensor(dtype, x, 1), random_tensor(DType::f32, {x[-1]}, 2)},
              .reference =
                  [](const auto& in) {
                    std::vector<double> y = in[0].values;
                    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= in[1].values[i % in[1].values.size()];
                    return std::vector<std::vector<double>>{y};
                  },
              .gradient_inputs = {LayerScale::x, LayerScale::gamma}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LayerScaleCases,
                         ::testing::Values(Shape{1, 3}, Shape{2, 3, 3, 32}, Shape{11, 19}, Shape{5, 7, 8}), case_name);

TEST(LayerScale, RefusesFactorsOfOtherChannels) {
  const std::vector<TensorDesc> inputs{{DType::f32, {2, 3, 3, 8}}, {DType::f32, {3}}};
  EXPECT_THROW(LayerScale().infer(inputs), std::invalid_argument);
}

}  // namespace layer_scale_test
}  // namespace ptrain::testing

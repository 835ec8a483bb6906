#include "core/ops/text/swiglu.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace swiglu_test {

class SwiGluCases : public ::testing::TestWithParam<Shape> {};

TEST_P(SwiGluCases, AgreesWithReferenceInEveryDtype) {
  const Shape& x = GetParam();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<SwiGlu>(),
              .inputs = {random_tensor(dtype, x, 1, -6, 6)},
              .reference =
                  [width = static_cast<std::size_t>(x[-1] / 2)](const auto& in) {
                    std::vector<double> y;
                    for (std::size_t row = 0; row < in[0].values.size(); row += 2 * width)
                      for (std::size_t c = row; c < row + width; ++c) {
                        const double gate = in[0].values[c];
                        y.push_back(gate / (1 + std::exp(-gate)) * in[0].values[c + width]);
                      }
                    return std::vector<std::vector<double>>{y};
                  },
              .gradient_inputs = {0}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SwiGluCases, ::testing::Values(Shape{3, 2}, Shape{2, 5, 38}, Shape{7, 64}), case_name);

TEST(SwiGlu, RefusesRowsWithoutTwoHalves) {
  const std::vector<TensorDesc> inputs{{DType::f32, {2, 7}}};
  EXPECT_THROW(SwiGlu().infer(inputs), std::invalid_argument);
}

}  // namespace swiglu_test
}  // namespace ptrain::testing

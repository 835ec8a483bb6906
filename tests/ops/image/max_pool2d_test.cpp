#include "core/ops/image/max_pool2d.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/max_pool2d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ptrain::testing {
namespace max_pool2d_test {

struct Problem {
  Shape x;
  MaxPool2dAttributes pool;
};
void PrintTo(const Problem& p, std::ostream* out) { *out << p.x.to_string() << ' ' << p.pool.to_string(); }

/// Values far enough apart in every dtype that neither rounding nor a finite difference changes the maximum.
HostTensor distinct_tensor(DType dtype, const Shape& shape) {
  HostTensor t = random_tensor(dtype, shape, 1);
  for (std::size_t i = 0; i < t.values.size(); ++i) t.values[i] = static_cast<double>(i * 89 % 251) - 125;
  return t;
}

class MaxPool2dCases : public ::testing::TestWithParam<Problem> {};

TEST_P(MaxPool2dCases, AgreeWithReferenceInEveryDtype) {
  const MaxPool2dAttributes pool = GetParam().pool;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<MaxPool2d>(pool),
              .inputs = {distinct_tensor(dtype, GetParam().x)},
              .reference = [pool](const auto& in) { return reference_max_pool2d(pool, in[0]); },
              .gradient_inputs = {0}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MaxPool2dCases,
                         ::testing::Values(Problem{{1, 1, 1, 3}, {3, 2, 1}}, Problem{{2, 7, 6, 16}, {3, 2, 1}},
                                           Problem{{1, 4, 4, 20}, {2, 2, 0}}, Problem{{1, 9, 5, 1}, {3, 1, 1}},
                                           Problem{{1, 8, 8, 17}, {2, 3, 0}}),
                         case_name);

TEST(MaxPool2d, LetsNanThrough) {
  std::vector<HostTensor> inputs{tensor(DType::f32, {1, 2, 2, 1}, {1, std::nan(""), 3, 2})};
  const auto outputs = run_op(std::make_shared<MaxPool2d>(MaxPool2dAttributes{}), inputs);
  EXPECT_TRUE(std::isnan(outputs[0].values[0]));
}

TEST(MaxPool2d, GivesTheFirstOfEqualMaximaTheGradient) {
  const OpCase c{.op = std::make_shared<MaxPool2d>(MaxPool2dAttributes{}),
                 .inputs = {tensor(DType::f32, {1, 2, 2, 1}, {1, 2, 2, 2})},
                 .gradient_inputs = {0}};
  const auto gradient = run_gradient(c, {tensor(DType::f32, {1, 1, 1, 1}, {5})});
  EXPECT_EQ(gradient[0].values, (std::vector<double>{0, 5, 0, 0}));
}

}  // namespace max_pool2d_test
}  // namespace ptrain::testing

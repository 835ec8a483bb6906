#include "core/ops/image/avg_pool2d.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/avg_pool2d.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace avg_pool2d_test {

struct Problem {
  Shape x;
  AvgPool2dAttributes pool;
  std::int64_t rows, columns;  // of windows
};
void PrintTo(const Problem& p, std::ostream* out) { *out << p.x.to_string() << ' ' << p.pool.to_string(); }

class AvgPool2dCases : public ::testing::TestWithParam<Problem> {};

TEST_P(AvgPool2dCases, AgreeWithReferenceInEveryDtype) {
  const Problem& p = GetParam();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<AvgPool2d>(p.pool),
              .inputs = {random_tensor(dtype, p.x, 1)},
              .reference =
                  [p](const auto& in) {
                    return std::vector<std::vector<double>>{reference_avg_pool2d(p.pool, in[0], p.rows, p.columns)};
                  },
              .gradient_inputs = {0}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AvgPool2dCases,
                         ::testing::Values(Problem{{2, 6, 8, 16}, {2, 2}, 3, 4}, Problem{{1, 7, 5, 20}, {2, 2}, 4, 3},
                                           Problem{{1, 1, 1, 3}, {2, 2}, 1, 1}, Problem{{2, 7, 6, 5}, {3, 2}, 3, 3},
                                           Problem{{1, 5, 4, 17}, {2, 1}, 4, 3}),
                         case_name);

TEST(AvgPool2d, RefusesWindowsThatLeavePixelsOut) {
  const std::vector<TensorDesc> x{{DType::f32, {1, 4, 4, 1}}};
  EXPECT_THROW(AvgPool2d(AvgPool2dAttributes{2, 3}).infer(x), std::invalid_argument);
}

}  // namespace avg_pool2d_test
}  // namespace ptrain::testing

#include "core/ops/image/max_pool2d.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/max_pool2d.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace max_pool2d_of_integers_test {

struct Problem {
  Shape x;
  MaxPool2dAttributes pool;
};
void PrintTo(const Problem& p, std::ostream* out) { *out << p.x.to_string() << ' ' << p.pool.to_string(); }

class MaxPool2dOfIntegers : public ::testing::TestWithParam<Problem> {};

TEST_P(MaxPool2dOfIntegers, HasNoArgmax) {
  const MaxPool2dAttributes pool = GetParam().pool;
  for (const DType dtype : {DType::u8, DType::s8}) {
    std::vector<HostTensor> inputs{random_tensor(dtype, GetParam().x, 3, dtype == DType::u8 ? 0 : -128, 128)};
    const auto outputs = run_op(std::make_shared<MaxPool2d>(pool), inputs);
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].values, reference_max_pool2d(pool, inputs[0])[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MaxPool2dOfIntegers,
                         ::testing::Values(Problem{{1, 1, 1, 3}, {3, 2, 1}}, Problem{{2, 7, 6, 16}, {3, 2, 1}},
                                           Problem{{1, 4, 4, 20}, {2, 2, 0}}, Problem{{1, 8, 8, 17}, {2, 3, 0}}),
                         case_name);

}  // namespace max_pool2d_of_integers_test
}  // namespace ptrain::testing

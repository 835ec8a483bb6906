#include "core/ops/image/global_average_pool.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/global_average_pool.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace {

class GlobalAveragePoolCases : public ::testing::TestWithParam<Shape> {};

TEST_P(GlobalAveragePoolCases, AgreeWithReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<GlobalAveragePool>(),
              .inputs = {random_tensor(dtype, GetParam(), 1)},
              .reference =
                  [](const auto& in) { return std::vector<std::vector<double>>{reference_global_average_pool(in[0])}; },
              .gradient_inputs = {0}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GlobalAveragePoolCases,
                         ::testing::Values(Shape{1, 1, 1, 3}, Shape{2, 3, 3, 32}, Shape{2, 3, 2, 19}), case_name);

}  // namespace
}  // namespace ptrain::testing

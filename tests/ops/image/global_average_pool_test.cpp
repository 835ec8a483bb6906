#include "core/ops/image/global_average_pool.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/global_average_pool.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace global_average_pool_test {

struct Case {
  Shape shape;
  std::int64_t images = 1;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.shape.to_string() << " by " << c.images; }

class GlobalAveragePoolCases : public ::testing::TestWithParam<Case> {};

TEST_P(GlobalAveragePoolCases, AgreeWithReferenceInEveryDtype) {
  const auto& [shape, images] = GetParam();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<GlobalAveragePool>(GlobalAveragePoolAttributes{images}),
              .inputs = {random_tensor(dtype, shape, 1)},
              .reference =
                  [images = images](const auto& in) {
                    return std::vector<std::vector<double>>{reference_global_average_pool(in[0], images)};
                  },
              .gradient_inputs = {0}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GlobalAveragePoolCases,
                         ::testing::Values(Case{{1, 1, 1, 3}}, Case{{2, 3, 3, 32}}, Case{{2, 3, 2, 19}},
                                           Case{{6, 2, 3, 17}, 3}, Case{{4, 1, 1, 32}, 4}),
                         case_name);

TEST(GlobalAveragePool, RefusesImagesThatMakeNoWholeSamples) {
  const GlobalAveragePool pool({3});
  const std::vector<TensorDesc> images{{DType::f32, {4, 2, 2, 8}}};
  EXPECT_THROW(pool.infer(images), std::invalid_argument);
}

}  // namespace global_average_pool_test
}  // namespace ptrain::testing

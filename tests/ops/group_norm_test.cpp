#include "core/ops/normalization/group_norm.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/group_norm.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace group_norm_test {

OpCase make_case(Shape shape, int groups, DType dtype) {
  OpCase c;
  c.op = std::make_shared<GroupNorm>(GroupNormAttributes{groups, 1e-5f});
  const std::int64_t channels = shape[-1];
  c.inputs = {random_tensor(dtype, std::move(shape), 1, -2, 3), random_tensor(DType::f32, Shape{channels}, 2),
              random_tensor(DType::f32, Shape{channels}, 3)};
  c.reference = [groups](const std::vector<HostTensor>& in) { return reference_group_norm(in, groups, 1e-5f); };
  c.gradient_inputs = {0, 1, 2};
  return c;
}

TEST(GroupNorm, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(Shape{2, 3, 2, 12}, 3, dtype));
    check_op(make_case(Shape{1, 5, 3, 32}, 32, dtype));
    check_op(make_case(Shape{3, 2, 1, 21}, 1, dtype));
  }
}

TEST(GroupNorm, NormalisesImagesFarFromZero) {
  OpCase c = make_case(Shape{2, 4, 4, 8}, 2, DType::f32);
  for (double& v : c.inputs[0].values) v = round_to(DType::f32, v + 1000);
  c.gradient_inputs.clear();
  c.tolerance_scale = 100;  // the inputs carry only 14 bits below the mean
  check_op(c);
}

TEST(GroupNorm, RefusesGroupsThatDoNotDivideTheChannels) {
  const TensorDesc channels{DType::f32, {6}};
  const std::vector<TensorDesc> inputs{{DType::f32, {1, 2, 2, 6}}, channels, channels};
  EXPECT_THROW(GroupNorm(GroupNormAttributes{4}).infer(inputs), std::invalid_argument);
}

}  // namespace group_norm_test
}  // namespace ptrain::testing

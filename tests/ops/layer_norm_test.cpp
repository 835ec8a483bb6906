#include "core/ops/normalization/layer_norm.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/layer_norm.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace layer_norm_test {

OpCase make_case(Shape shape, DType dtype) {
  OpCase c;
  c.op = std::make_shared<LayerNorm>(1e-5f);
  const std::int64_t width = shape[-1];
  c.inputs = {random_tensor(dtype, std::move(shape), 1, -2, 3), random_tensor(DType::f32, Shape{width}, 2),
              random_tensor(DType::f32, Shape{width}, 3)};
  c.reference = [](const std::vector<HostTensor>& in) {
    const auto r = layer_norm_reference(in[0].values, in[1].values, in[2].values, 1e-5);
    return std::vector{r.y, r.mean, r.rstd};
  };
  c.gradient_inputs = {0, 1, 2};
  return c;
}

TEST(LayerNorm, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(Shape{2, 3, 37}, dtype));
    check_op(make_case(Shape{1, 64}, dtype));
    check_op(make_case(Shape{9, 16}, dtype));
  }
}

TEST(LayerNorm, NormalisesARowFarFromZero) {
  OpCase c = make_case(Shape{3, 48}, DType::f32);
  for (double& v : c.inputs[0].values) v = round_to(DType::f32, v + 100);
  c.gradient_inputs.clear();
  c.tolerance_scale = 10;  // the inputs carry only 17 bits below the mean
  check_op(c);
}

}  // namespace layer_norm_test
}  // namespace ptrain::testing

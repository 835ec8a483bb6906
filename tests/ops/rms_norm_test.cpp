#include "core/ops/normalization/rms_norm.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace rms_norm_test {

OpCase make_case(Shape shape, std::int64_t width, DType dtype) {
  OpCase c;
  c.op = std::make_shared<RmsNorm>(1e-5f);
  c.inputs = {random_tensor(dtype, std::move(shape), 1, -2, 3), random_tensor(DType::f32, Shape{width}, 2)};
  c.reference = [](const std::vector<HostTensor>& in) {
    const std::vector<double>&x = in[0].values, &gamma = in[1].values;
    std::vector<double> y(x.size()), rstd;
    for (std::size_t r = 0; r < x.size(); r += gamma.size()) {
      double squares = 0;
      for (std::size_t i = 0; i < gamma.size(); ++i) squares += x[r + i] * x[r + i];
      rstd.push_back(1 / std::sqrt(squares / static_cast<double>(gamma.size()) + 1e-5));
      for (std::size_t i = 0; i < gamma.size(); ++i) y[r + i] = x[r + i] * rstd.back() * gamma[i];
    }
    return std::vector{y, rstd};
  };
  c.gradient_inputs = {RmsNorm::x, RmsNorm::gamma};
  return c;
}

TEST(RmsNorm, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(Shape{2, 3, 37}, 37, dtype));
    check_op(make_case(Shape{1, 64}, 64, dtype));
    check_op(make_case(Shape{9, 16}, 16, dtype));
  }
}

TEST(RmsNorm, NormalisesEachHeadOfARow) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    check_op(make_case(Shape{3, 4 * 16}, 16, dtype));
    check_op(make_case(Shape{2, 3, 2 * 9}, 9, dtype));
  }
}

TEST(RmsNorm, KeepsARowOfZeros) {
  OpCase c = make_case(Shape{2, 24}, 24, DType::f32);
  std::fill_n(c.inputs[0].values.begin(), 24, 0.0);
  c.gradient_inputs.clear();
  check_op(c);
}

TEST(RmsNorm, RefusesAScaleThatDoesNotDivideTheRow) {
  const std::vector<TensorDesc> inputs{{DType::f32, {2, 10}}, {DType::f32, {4}}};
  EXPECT_THROW(RmsNorm(1e-5f).infer(inputs), std::invalid_argument);
}

}  // namespace rms_norm_test
}  // namespace ptrain::testing

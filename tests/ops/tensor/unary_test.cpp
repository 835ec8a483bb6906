#include "core/ops/tensor/unary.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/pointwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ptrain::testing {
namespace unary_test {

OpCase make_case(UnaryFunction function, DType dtype, Shape shape) {
  const UnaryReference& reference = unary_references().at(function);
  OpCase c;
  c.op = std::make_shared<Unary>(UnaryAttributes{function, reference.constants});
  c.inputs = {random_tensor(dtype, std::move(shape), 4, reference.low, reference.high)};
  for (double& x : c.inputs.front().values) {
    // abs has no derivative at 0, clamp none at its ends.
    for (const double kink : {0.0, -1.5, 1.25}) {
      if (std::abs(x - kink) < 0.01) x = round_to(dtype, kink + 0.125);
    }
  }
  c.reference = [reference](const std::vector<HostTensor>& in) {
    std::vector<double> y;
    for (const double x : in[0].values) y.push_back(reference.value(x, reference.constants));
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {0};
  return c;
}

TEST(Unary, EveryFunctionMatchesReferenceInEveryDtype) {
  for (const UnaryTraits& traits : unary_functions) {
    ASSERT_TRUE(unary_references().contains(traits.function)) << traits.type << " has no reference";
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      check_op(make_case(traits.function, dtype, Shape{3, 7, 1, 29}));
    }
  }
}

TEST(Unary, TakesASingleElementAndMoreThanARunOfThem) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    check_op(make_case(UnaryFunction::square, dtype, Shape{}));
    check_op(make_case(UnaryFunction::log1p, dtype, Shape{1}));
    check_op(make_case(UnaryFunction::softplus, dtype, Shape{33, 65}));
  }
}

TEST(Unary, LogarithmsKeepRelativeAccuracy) {
  for (double exponent = -37.9; exponent < 38; exponent += 0.0173) {
    const auto x = static_cast<float>(std::pow(10, exponent));
    const double expected = std::log(static_cast<double>(x));
    EXPECT_NEAR(fast_log(x), expected, 3e-7 * std::abs(expected) + 1e-12) << x;
    const double more = std::log1p(static_cast<double>(x));
    EXPECT_NEAR(fast_log1p(x), more, 4e-7 * more) << x;
  }
  for (double x = -0.99; x < 1; x += 0.00137) {
    const auto f = static_cast<float>(x);
    const double expected = std::log1p(static_cast<double>(f));
    EXPECT_NEAR(fast_log1p(f), expected, 4e-7 * std::abs(expected)) << x;
  }
}

TEST(Unary, LogarithmsHaveTheirEnds) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (float (*const logarithm)(float) :
       {+[](float x) { return fast_log(x); }, +[](float x) { return fast_log1p(x - 1); }}) {
    EXPECT_EQ(logarithm(0), -infinity);
    EXPECT_EQ(logarithm(1), 0);
    EXPECT_EQ(logarithm(infinity), infinity);
    EXPECT_TRUE(std::isnan(logarithm(-1)));
    EXPECT_TRUE(std::isnan(logarithm(nan)));
  }
  EXPECT_NEAR(fast_log(1e-42f), std::log(1e-42), 0.01);  // a subnormal number of few bits
}

TEST(Unary, ClampKeepsNaN) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{3}, {std::nan(""), -9, 9})};
  const auto y = run_op(std::make_shared<Unary>(UnaryAttributes{UnaryFunction::clamp, {-1, 2}}), inputs)[0].values;
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], -1);
  EXPECT_EQ(y[2], 2);
}

TEST(Unary, RefusesIntegers) {
  const std::vector<TensorDesc> inputs{{DType::i32, {4}}};
  EXPECT_THROW(Unary({UnaryFunction::exp}).infer(inputs), std::invalid_argument);
}

}  // namespace unary_test
}  // namespace ptrain::testing

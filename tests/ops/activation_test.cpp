#include "core/ops/activation.h"

#include "core/ops/math/activation_math.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/activation.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace activation_test {

OpCase make_case(Activation activation, DType dtype, std::int64_t count) {
  OpCase c;
  c.op = std::make_shared<ActivationOp>(activation);
  c.inputs = {random_tensor(dtype, Shape{count}, 4, -9, 9)};
  for (double& x : c.inputs.front().values) {
    // No derivative has relu6 at 6, and the hard forms at -3 and 3.
    if (std::abs(x - 6) < 0.1) x = 5;
    if (std::abs(std::abs(x) - 3) < 0.1) x = 2;
  }
  c.reference = [activation](const std::vector<HostTensor>& in) {
    std::vector<double> y;
    for (const double x : in[0].values) y.push_back(activation_reference(activation, x));
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {0};
  return c;
}

TEST(Activation, MatchesReferenceInEveryDtype) {
  for (const ActivationTraits& traits : activations) {
    if (traits.activation == Activation::none) continue;
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) check_op(make_case(traits.activation, dtype, 333));
  }
}

TEST(Activation, KeepsRelativeAccuracyInTheTails) {
  for (double x = -12; x <= 12; x += 0.01) {
    const auto f = static_cast<float>(x);
    const double gelu = activation_reference(Activation::gelu_erf, static_cast<double>(f));
    EXPECT_NEAR(activate<Activation::gelu_erf>(f), gelu, 2e-6 * std::abs(x) * std::min(1.0, std::abs(gelu) + 0.05))
        << x;
    EXPECT_NEAR(activate<Activation::tanh>(f), std::tanh(static_cast<double>(f)), 3e-7 * std::abs(std::tanh(x)) + 1e-12)
        << x;
    const double sigmoid = activation_reference(Activation::sigmoid, static_cast<double>(f));
    EXPECT_NEAR(activate<Activation::sigmoid>(f), sigmoid, 1e-6 * sigmoid) << x;
  }
}

TEST(Exp, IsWithinFewUlpsAndCarriesNaN) {
  for (double x = -86; x <= 87; x += 0.0137) {
    const auto f = static_cast<float>(x);
    const double expected = std::exp(static_cast<double>(f));
    EXPECT_NEAR(fast_exp(f), expected, 4e-7 * expected) << x;
  }
  EXPECT_TRUE(std::isnan(fast_exp(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace activation_test
}  // namespace ptrain::testing

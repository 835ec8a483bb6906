#include "core/ops/elementwise.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace elementwise_test {

constexpr DType floating[] = {DType::f32, DType::bf16, DType::f16};

TEST(Add, MatchesReferenceInEveryDtype) {
  for (const DType dtype : floating) {
    OpCase c;
    c.op = std::make_shared<Add>();
    c.inputs = {random_tensor(dtype, Shape{3, 11}, 1), random_tensor(dtype, Shape{3, 11}, 2)};
    c.reference = [](const std::vector<HostTensor>& in) {
      std::vector<double> y = in[0].values;
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += in[1].values[i];
      return std::vector<std::vector<double>>{y};
    };
    c.gradient_inputs = {0, 1};
    check_op(c);
  }
}

TEST(Scale, MatchesReferenceInEveryDtype) {
  for (const DType dtype : floating) {
    OpCase c;
    c.op = std::make_shared<Scale>(-0.75f);
    c.inputs = {random_tensor(dtype, Shape{37}, 1)};
    c.reference = [](const std::vector<HostTensor>& in) {
      std::vector<double> y = in[0].values;
      for (double& v : y) v *= -0.75;
      return std::vector<std::vector<double>>{y};
    };
    c.gradient_inputs = {0};
    check_op(c);
  }
}

TEST(Cast, RoundsToNearestBetweenEveryPair) {
  for (const DType from : floating) {
    for (const DType to : floating) {
      std::vector<HostTensor> inputs{random_tensor(from, Shape{1000}, 1, -300, 300)};
      const std::vector<HostTensor> outputs = run_op(std::make_shared<Cast>(to), inputs);
      ASSERT_EQ(outputs[0].desc.dtype, to);
      for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
        EXPECT_EQ(outputs[0].values[i], round_to(to, inputs[0].values[i]));
      }
    }
  }
}

TEST(Cast, GradientComesBackInTheInputsDtype) {
  OpCase c;
  c.op = std::make_shared<Cast>(DType::bf16);
  c.inputs = {random_tensor(DType::f32, Shape{40}, 1)};
  c.gradient_inputs = {0};
  const std::vector<HostTensor> seeds{random_tensor(DType::bf16, Shape{40}, 2)};
  const HostTensor gradient = run_gradient(c, seeds)[0];
  EXPECT_EQ(gradient.desc.dtype, DType::f32);
  EXPECT_EQ(gradient.values, seeds[0].values);
}

}  // namespace elementwise_test
}  // namespace ptrain::testing

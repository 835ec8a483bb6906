#include "core/ops/tensor/binary.h"

#include "core/ops/tensor/broadcast.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/broadcast.h"
#include "tests/ops/reference/pointwise.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace ptrain::testing {
namespace binary_test {

OpCase make_case(BinaryFunction function, DType dtype, const Shape& a, const Shape& b) {
  OpCase c;
  c.op = std::make_shared<Binary>(function);
  c.inputs = {random_tensor(dtype, a, 1, 0.5, 2), random_tensor(dtype, b, 2, 0.5, 2)};
  for (double& x : c.inputs[1].values)
    x = round_to(dtype, x + 0.0017);  // where they are equal, maxima have no derivative
  c.reference = [function](const std::vector<HostTensor>& in) {
    const Shape result = broadcast_shape(std::array{in[0].desc.shape, in[1].desc.shape});
    std::vector<double> y;
    for (std::int64_t i = 0; i < result.count(); ++i) {
      y.push_back(binary_references().at(function)(in[0].values[broadcast_element(in[0].desc.shape, result, i)],
                                                   in[1].values[broadcast_element(in[1].desc.shape, result, i)]));
    }
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {0, 1};
  return c;
}

TEST(Binary, EveryFunctionMatchesReferenceInEveryDtype) {
  for (const BinaryTraits& traits : binary_functions) {
    ASSERT_TRUE(binary_references().contains(traits.function)) << traits.type << " has no reference";
    check_op(make_case(traits.function, DType::f32, Shape{3, 5, 19}, Shape{3, 5, 19}));
    check_op(make_case(traits.function, DType::f32, Shape{4, 7}, Shape{7}));
    if (traits.function == BinaryFunction::maximum || traits.function == BinaryFunction::minimum) continue;
    for (const DType dtype : {DType::bf16, DType::f16}) {
      check_op(make_case(traits.function, dtype, Shape{3, 5, 19}, Shape{3, 5, 19}));
      check_op(make_case(traits.function, dtype, Shape{5, 1}, Shape{3, 5, 7}));
    }
  }
}

TEST(Binary, BroadcastsAnyAxesOfEither) {
  const std::array<std::array<Shape, 2>, 9> shapes{{{Shape{2, 3, 4, 5}, Shape{}},
                                                    {Shape{1}, Shape{6, 7}},
                                                    {Shape{2, 3, 1, 1, 5}, Shape{3, 4, 2, 1}},
                                                    {Shape{4, 1, 5}, Shape{1, 3, 1}},
                                                    {Shape{3, 200}, Shape{3, 1}},
                                                    {Shape{2, 90, 3}, Shape{3}},
                                                    {Shape{1, 1, 1}, Shape{1}},
                                                    {Shape{2, 1, 3, 1, 2, 3}, Shape{5, 1, 2, 1, 3}},
                                                    {Shape{20, 1}, Shape{1, 30}}}};
  for (const auto& [a, b] : shapes) {
    check_op(make_case(BinaryFunction::mul, DType::f32, a, b));
    check_op(make_case(BinaryFunction::sub, DType::f32, b, a));
    check_op(make_case(BinaryFunction::add, DType::bf16, a, b));
  }
}

TEST(Binary, NaNReachesMaximaAndMinima) {
  for (const BinaryFunction function : {BinaryFunction::maximum, BinaryFunction::minimum}) {
    std::vector<HostTensor> inputs{tensor(DType::f32, Shape{2}, {std::nan(""), 1}),
                                   tensor(DType::f32, Shape{2}, {1, std::nan("")})};
    const std::vector<HostTensor> y = run_op(std::make_shared<Binary>(function), inputs);
    for (const double value : y[0].values) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Binary, EqualOperandsOfAMaximumShareItsGradient) {
  OpCase c = make_case(BinaryFunction::maximum, DType::f32, Shape{1}, Shape{1});
  c.inputs[1].values = c.inputs[0].values;
  const std::vector<HostTensor> gradients = run_gradient(c, {tensor(DType::f32, Shape{1}, {3})});
  EXPECT_EQ(gradients[0].values[0], 1.5);
  EXPECT_EQ(gradients[1].values[0], 1.5);
}

TEST(Binary, RefusesWhatDoesNotFit) {
  const TensorDesc a{DType::f32, {4, 3}};
  const Binary op(BinaryFunction::mul);
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{a, {DType::f32, {4}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{a, {DType::bf16, {4, 3}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{a, {DType::f32, {1, 1, 1, 1, 1, 1, 1, 4, 3}}}), std::invalid_argument);
}

}  // namespace binary_test
}  // namespace ptrain::testing

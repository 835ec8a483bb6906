#include "core/ops/tensor/pointwise_chain.h"

#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/unary.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace pointwise_chain_test {

OpPtr unary(UnaryFunction function, PointwiseConstants constants = {}) {
  return std::make_shared<Unary>(UnaryAttributes{function, constants});
}
OpPtr binary(BinaryFunction function) { return std::make_shared<Binary>(function); }

/// sqrt(|a b| + 0.25) - c, with b for each row and c for all.
OpCase make_case(DType dtype) {
  PointwiseChainAttributes chain{3, {}};
  chain.steps = {{binary(BinaryFunction::mul), {0, 1, -1}},
                 {unary(UnaryFunction::abs), {3, -1, -1}},
                 {unary(UnaryFunction::affine, {1, 0.25f}), {4, -1, -1}},
                 {unary(UnaryFunction::sqrt), {5, -1, -1}},
                 {binary(BinaryFunction::sub), {6, 2, -1}}};
  OpCase c;
  c.op = std::make_shared<PointwiseChain>(chain);
  c.inputs = {random_tensor(dtype, Shape{9, 70}, 1), random_tensor(dtype, Shape{9, 1}, 2),
              random_tensor(dtype, Shape{}, 3)};
  c.reference = [](const std::vector<HostTensor>& in) {
    std::vector<double> y;
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      y.push_back(std::sqrt(std::abs(in[0].values[i] * in[1].values[i / 70]) + 0.25) - in[2].values[0]);
    }
    return std::vector<std::vector<double>>{y};
  };
  return c;
}

TEST(PointwiseChain, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) check_op(make_case(dtype));
}

TEST(PointwiseChain, HasGradientsAsSteps) {
  // The gradient of log(x / y) by x, where 3 arrives: 3 / (x / y) / y.
  PointwiseChainAttributes chain{3, {}};
  chain.steps = {{binary(BinaryFunction::div), {1, 2, -1}},
                 {std::make_shared<UnaryGrad>(UnaryAttributes{UnaryFunction::log}), {0, 3, -1}},
                 {std::make_shared<BinaryGrad>(BinaryFunction::div, Operand::a), {4, 1, 2}},
                 {std::make_shared<UnaryGrad>(UnaryAttributes{UnaryFunction::neg}), {5, -1, -1}}};
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{2}, {3, 3}), tensor(DType::f32, Shape{2}, {2, 4}),
                                 tensor(DType::f32, Shape{2}, {8, 0.5})};
  EXPECT_EQ(run_op(std::make_shared<PointwiseChain>(chain), inputs)[0].values, (std::vector<double>{-1.5, -0.75}));
}

TEST(PointwiseChain, RefusesWhatIsNotMadeYetAndStepsOfOtherShapes) {
  const TensorDesc a{DType::f32, {4, 3, -1}}, b{DType::f32, {3, -1, -1}};
  PointwiseChainAttributes chain{2, {{binary(BinaryFunction::mul), {0, 2, -1}}}};
  EXPECT_THROW(PointwiseChain(chain).infer(std::vector<TensorDesc>{a, b}), std::invalid_argument);
  chain.steps = {{unary(UnaryFunction::exp), {1, -1, -1}}, {binary(BinaryFunction::mul), {0, 2, -1}}};
  EXPECT_THROW(PointwiseChain(chain).infer(std::vector<TensorDesc>{a, b}), std::invalid_argument);
}

}  // namespace pointwise_chain_test
}  // namespace ptrain::testing

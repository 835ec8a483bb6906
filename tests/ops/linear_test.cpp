#include "core/ops/linear.h"

#include "core/ops/require.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/linear.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace linear_test {

struct Dtypes {
  DType x, w;
};

OpCase make_case(Shape x, std::int64_t out, Dtypes dtypes, LinearAttributes attributes) {
  OpCase c;
  c.op = std::make_shared<Linear>(attributes);
  const std::int64_t depth = x[-1];
  c.inputs = {random_tensor(dtypes.x, std::move(x), 1), random_tensor(dtypes.w, Shape{out, depth}, 2),
              random_tensor(DType::f32, Shape{out}, 3)};
  c.reference = [attributes](const auto& in) {
    auto outputs = linear_reference(in, attributes.activation);
    if (!attributes.save_pre) outputs.pop_back();
    return outputs;
  };
  c.gradient_inputs = {0, 1, 2};
  return c;
}

const std::vector<Dtypes> all_dtypes{{DType::f32, DType::f32},
                                     {DType::bf16, DType::bf16},
                                     {DType::bf16, DType::f32},
                                     {DType::f16, DType::f16},
                                     {DType::f16, DType::f32}};

constexpr Activation all_activations[] = {Activation::gelu_erf, Activation::gelu_tanh, Activation::tanh,
                                          Activation::relu};

TEST(Linear, MatchesReferenceInEveryDtype) {
  for (const Dtypes dtypes : all_dtypes) {
    check_op(make_case(Shape{2, 5, 24}, 12, dtypes, {}));
    check_op(make_case(Shape{1, 7}, 3, dtypes, {}));
  }
}

TEST(Linear, MatchesReferenceWithoutBias) {
  OpCase c = make_case(Shape{3, 17}, 10, {DType::f32, DType::f32}, {});
  c.inputs[2] = absent_tensor();
  c.gradient_inputs = {0, 1};
  check_op(c);
}

TEST(Linear, PreferredWeightGradientAgreesWhereWidthsSuitVectorsAndRowsDoNot) {
  constexpr std::int64_t rows = 35, in = 288, out = 96;
  TestBackend unsearched;
  unsearched.options.kernels.exhaustive_search = false;
  for (const DType weights : {DType::f32, DType::bf16}) {
    const OpCase c = make_case(Shape{rows, in}, out, {DType::bf16, weights}, {});
    const HostTensor dy = random_tensor(DType::bf16, Shape{rows, out}, 4);
    std::vector<double> expected(out * in);
    for (std::int64_t i = 0; i < out * in; ++i) {
      for (std::int64_t r = 0; r < rows; ++r) {
        expected[static_cast<std::size_t>(i)] += dy.values[static_cast<std::size_t>(r * out + i / in)] *
                                                 c.inputs[0].values[static_cast<std::size_t>(r * in + i % in)];
      }
    }
    const std::vector<HostTensor> gradients = run_gradient(c, {dy}, unsearched);
    expect_close(gradients[1].values, expected, weights == DType::f32 ? 1e-5 : tolerance(weights), "dw");
  }
}

TEST(Linear, TrainsThroughEachActivation) {
  for (const Activation activation : {Activation::gelu_erf, Activation::gelu_tanh, Activation::tanh}) {
    for (const Dtypes dtypes : all_dtypes) {
      OpCase c = make_case(Shape{4, 20}, 18, dtypes, {activation, true});
      c.tolerance_scale = 2;  // the derivative is taken at the rounded value before the activation
      check_op(c);
    }
  }
}

TEST(Linear, FusesTheActivationForInference) {
  for (const Activation activation : all_activations) {
    for (const Dtypes dtypes : all_dtypes) {
      OpCase c = make_case(Shape{4, 20}, 18, dtypes, {activation, false});
      c.gradient_inputs.clear();
      check_op(c);
    }
  }
}

OpCase grad_input_case(Shape dy, std::int64_t in, Dtypes dtypes, LinearGradInputAttributes attributes) {
  OpCase c;
  c.op = std::make_shared<LinearGradInput>(attributes);
  Shape x = with_last(dy, in);
  HostTensor saved = random_tensor(dtypes.x, std::move(x), 3, -3, 3);
  for (double& v : saved.values) v = round_to(dtypes.x, saved_reference(attributes.activation, v));
  const std::int64_t out = dy[-1];
  c.inputs = {random_tensor(dtypes.x, std::move(dy), 1), random_tensor(dtypes.w, Shape{out, in}, 2), std::move(saved)};
  c.reference = [attributes](const auto& inputs) {
    auto outputs = linear_grad_input_reference(inputs, attributes.activation);
    if (!attributes.bias) outputs.pop_back();
    return outputs;
  };
  c.tolerance_scale = 2;  // the product is rounded before the derivative multiplies it
  return c;
}

TEST(LinearGradInput, TakesInEachActivationsGradient) {
  for (const Activation activation : all_activations) {
    for (const Dtypes dtypes : all_dtypes) {
      check_op(grad_input_case(Shape{2, 5, 24}, 12, dtypes, {activation, {}}));
      check_op(grad_input_case(Shape{3, 9}, 17, dtypes, {activation, {}}));
    }
  }
}

TEST(LinearGradInput, SumsTheBiasGradientInEitherDtype) {
  for (const Activation activation : all_activations) {
    for (const Dtypes dtypes : all_dtypes) {
      for (const DType bias : {dtypes.x, DType::f32}) {
        check_op(
            grad_input_case(Shape{7, 13, 16}, 24, dtypes, {activation, bias}));  // more rows than are summed at once
        check_op(grad_input_case(Shape{3, 9}, 17, dtypes, {activation, bias}));
        check_op(grad_input_case(Shape{40, 4}, 1030, dtypes, {activation, bias}));  // wider than a run
      }
    }
  }
}

TEST(LinearGradInput, RefusesASavedValueThatDoesNotFit) {
  const LinearGradInput op({Activation::gelu_tanh, {}});
  const TensorDesc dy{DType::bf16, Shape{2, 5}}, w{DType::bf16, Shape{5, 4}};
  const auto infer = [&](const TensorDesc& saved) { return op.infer(std::vector<TensorDesc>{dy, w, saved}); };
  EXPECT_EQ(infer({DType::bf16, Shape{2, 4}}).front(), (TensorDesc{DType::bf16, Shape{2, 4}}));
  EXPECT_THROW(infer({DType::bf16, Shape{2, 5}}), std::invalid_argument);
  EXPECT_THROW(infer({DType::f32, Shape{2, 4}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{dy, w}), std::invalid_argument);
}

TEST(Linear, RefusesWeightsOfAnotherWidth) {
  const std::vector<TensorDesc> inputs{{DType::f32, Shape{2, 5}}, {DType::f32, Shape{3, 4}}};
  EXPECT_THROW(Linear().infer(inputs), std::invalid_argument);
}

}  // namespace linear_test
}  // namespace ptrain::testing

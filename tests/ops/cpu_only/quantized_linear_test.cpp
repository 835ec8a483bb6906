#include "core/ops/quantization/quantized_linear.h"

#include "tests/ops/cpu_only/quantized_case.h"
#include "tests/ops/reference/quantized.h"

namespace ptrain::testing {
namespace quantized_linear_test {

class QuantizedProducts : public InEightBits {};

using Format = std::optional<QuantizedFormat>;

struct Problem {
  Shape x;
  std::int64_t out;
};

void check(const Problem& problem, const QuantizedLinearAttributes& attributes, bool bias) {
  const std::int64_t in = problem.x[-1];
  std::vector<HostTensor> inputs{random_integers(attributes.x.dtype, problem.x, 1),
                                 random_weights(Shape{problem.out, in}, 2),
                                 random_tensor(DType::f32, Shape{problem.out}, 3, 0.002, 0.01),
                                 bias ? random_tensor(DType::f32, Shape{problem.out}, 4) : absent_tensor()};
  const std::vector<double> expected = quantized_linear_reference(attributes, inputs);
  for (const TestBackend& on : kernel_choices()) {
    const auto op = std::make_shared<QuantizedLinear>(attributes);
    SCOPED_TRACE(op->attributes() + " " + problem.x.to_string());
    expect_quantized(run_op(op, inputs, on)[0], expected);
  }
}

TEST_F(QuantizedProducts, MatchesIntegersMultipliedOut) {
  for (const Problem& problem : {Problem{Shape{2, 5, 64}, 48}, {Shape{7, 33}, 10}, {Shape{1, 256}, 128}}) {
    for (const DType x : {DType::u8, DType::s8}) {
      for (const Format& y : {Format{}, Format{{DType::u8, 0.05f}}, Format{{DType::s8, 0.1f}}}) {
        check(problem, {Activation::none, {x, 0.02f}, y}, true);
      }
    }
  }
  check({Shape{3, 40}, 17}, {Activation::none, {DType::s8, 0.02f}, {}}, false);
}

TEST_F(QuantizedProducts, AppliesActivationsBeforeItRounds) {
  for (const ActivationTraits& traits : activations) {
    for (const Format& y : {Format{}, Format{{DType::s8, 0.05f}}}) {
      check({Shape{4, 6, 32}, 24}, {traits.activation, {DType::s8, 0.01f}, y}, true);
    }
  }
}

TEST(QuantizedLinear, RefusesWhatDoesNotFit) {
  const auto infer = [](const QuantizedLinearAttributes& attributes, const TensorDesc& x, const TensorDesc& w) {
    return QuantizedLinear(attributes)
        .infer(std::vector<TensorDesc>{x, w, {DType::f32, Shape{w.shape[0]}}, absent_input()});
  };
  const TensorDesc x{DType::u8, Shape{2, 8}}, w{DType::s8, Shape{4, 8}};
  const QuantizedLinearAttributes fits{Activation::none, {DType::u8, 0.5f}};
  EXPECT_EQ(infer(fits, x, w).front(), (TensorDesc{DType::f32, Shape{2, 4}}));
  EXPECT_THROW(infer(fits, {DType::s8, x.shape}, w), std::invalid_argument);
  EXPECT_THROW(infer(fits, {DType::u8, Shape{2, 7}}, w), std::invalid_argument);
  EXPECT_THROW(infer(fits, x, {DType::f32, w.shape}), std::invalid_argument);
  EXPECT_THROW(infer({Activation::none, {DType::u8, 0.0f}}, x, w), std::invalid_argument);
  EXPECT_THROW(infer({Activation::none, {DType::u8, 0.5f}, {{DType::u8, NAN}}}, x, w), std::invalid_argument);
}

}  // namespace quantized_linear_test
}  // namespace ptrain::testing

#include "core/ops/quantization/quantized_conv2d.h"

#include "tests/ops/cpu_only/quantized_case.h"
#include "tests/ops/reference/quantized.h"

namespace ptrain::testing {
namespace quantized_conv2d_test {

class QuantizedConvolutions : public InEightBits {};

using Format = std::optional<QuantizedFormat>;

void check(const Conv2dProblem& problem, QuantizedConv2dAttributes attributes, bool residual = false) {
  attributes.conv = problem.conv;
  const std::int64_t channels = problem.w[0];
  std::vector<HostTensor> inputs{random_integers(attributes.x.dtype, problem.x, 1), random_weights(problem.w, 2),
                                 random_tensor(DType::f32, Shape{channels}, 3, 0.002, 0.01),
                                 random_tensor(DType::f32, Shape{channels}, 4)};
  if (residual) {
    inputs.push_back(attributes.residual ? random_integers(attributes.residual->dtype, problem.y(), 5)
                                         : random_tensor(DType::f32, problem.y(), 5));
  }
  const std::vector<double> expected = quantized_conv2d_reference(attributes, inputs);
  for (const TestBackend& on : kernel_choices()) {
    const auto op = std::make_shared<QuantizedConv2d>(attributes);
    SCOPED_TRACE(op->attributes() + " " + problem.x.to_string());
    expect_quantized(run_op(op, inputs, on)[0], expected);
  }
}

const Conv2dProblem plain{Shape{2, 8, 8, 16}, Shape{32, 3, 3, 16}, {1, 1}};

TEST_F(QuantizedConvolutions, MatchesIntegersMultipliedOut) {
  const Conv2dProblem problems[]{plain,
                                 {Shape{1, 9, 7, 4}, Shape{16, 7, 7, 4}, {2, 3}},
                                 {Shape{2, 6, 6, 24}, Shape{40, 1, 1, 24}, {}},
                                 {Shape{1, 7, 7, 32}, Shape{64, 1, 1, 32}, {2}},
                                 {Shape{1, 6, 6, 32}, Shape{32, 3, 3, 8}, {1, 1, 4}},
                                 {Shape{1, 6, 6, 16}, Shape{16, 3, 3, 1}, {1, 1, 16}},
                                 {Shape{1, 9, 9, 16}, Shape{16, 3, 3, 16}, {1, 2, 1, 2}}};
  for (const Conv2dProblem& problem : problems) {
    for (const DType x : {DType::u8, DType::s8}) {
      check(problem, {{}, Activation::none, {x, 0.02f}});
      check(problem, {{}, Activation::relu, {x, 0.02f}, {}, {{DType::u8, 0.08f}}});
    }
  }
}

Conv2dProblem depthwise(int side, int stride, int padding, std::int64_t channels, std::int64_t width) {
  const Conv2dAttributes conv{.stride = stride, .padding = padding, .groups = static_cast<int>(channels)};
  return {Shape{2, 7, width, channels}, Shape{channels, side, side, 1}, conv};
}

/// Rows narrower than the filter, and blocks of channels that are whole, half, or less.
TEST_F(QuantizedConvolutions, DepthwiseOnesOfEveryShape) {
  for (const int side : {3, 5}) {
    for (const int stride : {1, 2}) {
      for (const std::int64_t channels : {3, 32, 40, 64, 72, 160}) {
        for (const std::int64_t width : {side - 2, 8, 13}) {
          for (const DType x : {DType::u8, DType::s8}) {
            check(depthwise(side, stride, side / 2, channels, width),
                  {{}, Activation::relu, {x, 0.02f}, {}, {{DType::u8, 0.04f}}});
          }
        }
      }
    }
  }
  check(depthwise(3, 1, 0, 64, 8), {{}, Activation::none, {DType::u8, 0.02f}, {}, {{DType::s8, 0.04f}}});
  check(depthwise(3, 2, 2, 64, 8), {{}, Activation::none, {DType::u8, 0.02f}, {}, {{DType::s8, 0.04f}}});
}

TEST_F(QuantizedConvolutions, DepthwiseOnesWithEveryActivation) {
  for (const ActivationTraits& traits : activations) {
    for (const DType y : {DType::u8, DType::s8}) {
      check(depthwise(3, 1, 1, 96, 8), {{}, traits.activation, {DType::s8, 0.05f}, {}, {{y, 0.03f}}});
    }
  }
}

TEST_F(QuantizedConvolutions, AddsAResidualOfItsOwnScaleBeforeTheActivation) {
  for (const DType residual : {DType::u8, DType::s8}) {
    for (const DType y : {DType::u8, DType::s8}) {
      check(plain, {{}, Activation::relu, {DType::u8, 0.01f}, {{residual, 0.03f}}, {{y, 0.09f}}}, true);
    }
  }
  check(plain, {{}, Activation::relu, {DType::s8, 0.01f}}, true);  // in fp32
}

TEST(QuantizedConv2d, RefusesWhatDoesNotFit) {
  const TensorDesc x{DType::u8, plain.x}, w{DType::s8, plain.w}, channels{DType::f32, Shape{32}};
  const auto infer = [&](const QuantizedConv2dAttributes& attributes, const TensorDesc& residual) {
    return QuantizedConv2d(attributes).infer(std::vector<TensorDesc>{x, w, channels, channels, residual});
  };
  QuantizedConv2dAttributes attributes{plain.conv, Activation::none, {DType::u8, 0.1f}};
  EXPECT_EQ(infer(attributes, absent_input()).front(), (TensorDesc{DType::f32, plain.y()}));
  EXPECT_THROW(infer(attributes, {DType::u8, plain.y()}), std::invalid_argument);
  attributes.residual = {DType::u8, 0.1f};
  EXPECT_THROW(infer(attributes, {DType::u8, plain.y()}), std::invalid_argument);
  attributes.y = {DType::u8, 0.1f};
  EXPECT_EQ(infer(attributes, {DType::u8, plain.y()}).front(), (TensorDesc{DType::u8, plain.y()}));
  EXPECT_THROW(infer(attributes, {DType::s8, plain.y()}), std::invalid_argument);
}

}  // namespace quantized_conv2d_test
}  // namespace ptrain::testing

// Winograd's convolutions, forward and both gradients, against naive sums in double precision; each size of tiles is
// asked for by name, whatever a search would choose.
#include "tests/ops/forced_kernel.h"
#include "tests/ops/reference/activation.h"
#include "tests/ops/reference/conv2d.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace winograd_test {

const std::vector<std::string> names{"native:winograd_2x2", "native:winograd_4x4"};

class Winograd : public ::testing::TestWithParam<Conv2dProblem> {};

TEST_P(Winograd, ConvolvesAndGivesBothGradients) {
  const Conv2dProblem& p = GetParam();
  const HostTensor x = random_tensor(DType::f32, p.x, 1), w = random_tensor(DType::f32, p.w, 2);
  const HostTensor dy = random_tensor(DType::f32, p.y(), 3);
  const std::vector<double> y = reference_conv2d(p.conv, x, w);
  const std::vector<double> dx = reference_conv2d_grad_input(p.conv, dy, w, p.x);
  const std::vector<double> dw = reference_conv2d_grad_weight(p.conv, x, dy, p.w);
  const auto check = [&](const OpPtr& op, std::vector<HostTensor> inputs, const std::vector<double>& expected,
                         const std::string& name) {
    EXPECT_EQ(get_implementation(*op, {inputs[0].desc, inputs[1].desc}), name);
    expect_close(run_op(op, inputs)[0].values, expected, tolerance(DType::f32), name + " " + std::string(op->type()));
  };
  for (const std::string& name : names) {
    const AskedForKernel asked(name);
    check(std::make_shared<Conv2d>(p.conv), {x, w}, y, name);
    check(std::make_shared<Conv2dGradInput>(Conv2dGradInputAttributes{p.conv, p.x}), {dy, w}, dx, name);
    check(std::make_shared<Conv2dGradWeight>(Conv2dGradWeightAttributes{p.conv, w.desc}), {x, dy}, dw, name);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Winograd,
    ::testing::Values(Conv2dProblem{{2, 7, 9, 16}, {80, 3, 3, 16}, {.padding = 1}},
                      Conv2dProblem{{1, 8, 4, 144}, {16, 3, 3, 144}, {}},  // no padding
                      Conv2dProblem{{3, 1, 2, 16}, {16, 3, 3, 16}, {.padding = 2}},
                      // dilated: grids of different sizes, and less padding than keeps the size
                      Conv2dProblem{{2, 13, 18, 16}, {32, 3, 3, 16}, {.padding = 2, .dilation = 2}},
                      Conv2dProblem{{1, 17, 22, 32}, {16, 3, 3, 32}, {.padding = 4, .dilation = 4}},
                      Conv2dProblem{{1, 19, 20, 16}, {16, 3, 3, 16}, {.padding = 1, .dilation = 3}},
                      // more tiles than a task, or a set of the weight gradient, takes
                      Conv2dProblem{{2, 51, 50, 16}, {16, 3, 3, 16}, {.padding = 1}},
                      // channels shared out among threads
                      Conv2dProblem{{1, 5, 5, 32}, {272, 3, 3, 32}, {.padding = 1}}),
    case_name);

/// What is stored in low precision is computed as its values in fp32 are, and rounded once.
TEST(WinogradStorage, IsWidenedAndRoundedOnce) {
  const Conv2dProblem p{{2, 7, 9, 32}, {48, 3, 3, 32}, {.padding = 1}};
  for (const DType data : {DType::bf16, DType::f16}) {
    for (const DType weights : {data, DType::f32}) {
      const HostTensor x = random_tensor(data, p.x, 1), w = random_tensor(weights, p.w, 2);
      const HostTensor dy = random_tensor(data, p.y(), 3), residual = random_tensor(data, p.y(), 4);
      std::vector<double> y = reference_conv2d(p.conv, x, w);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += residual.values[i];
      for (const std::string& name : names) {
        const AskedForKernel asked(name);
        const auto check = [&](const OpPtr& op, std::vector<HostTensor> inputs, const std::vector<double>& expected) {
          std::vector<TensorDesc> descs;
          for (const HostTensor& t : inputs) descs.push_back(t.absent ? absent_input() : t.desc);
          EXPECT_EQ(get_implementation(*op, descs), name);
          const HostTensor result = run_op(op, inputs)[0];
          const double limit = result.desc.dtype == DType::f32 ? tolerance(DType::f32) : tolerance(data) / 4;
          expect_close(result.values, expected, limit, name + " " + std::string(op->type()));
        };
        check(std::make_shared<Conv2d>(p.conv), {x, w, absent_tensor(), residual}, y);
        check(std::make_shared<Conv2dGradInput>(Conv2dGradInputAttributes{p.conv, p.x}), {dy, w},
              reference_conv2d_grad_input(p.conv, dy, w, p.x));
        check(std::make_shared<Conv2dGradWeight>(Conv2dGradWeightAttributes{p.conv, w.desc}), {x, dy},
              reference_conv2d_grad_weight(p.conv, x, dy, p.w));
      }
    }
  }
}

double rms(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// Transformed values are rounded to bf16: twice the error of a result that is rounded to bf16 alone.
TEST(WinogradLowProducts, DifferByTwiceTheRoundingOfAResult) {
  const std::string name = "native:winograd_2x2_bf16";
  const AskedForKernel asked(name);
  for (const Conv2dProblem& p : {Conv2dProblem{{2, 17, 18, 64}, {80, 3, 3, 64}, {.padding = 1}},
                                 Conv2dProblem{{1, 5, 5, 32}, {272, 3, 3, 32}, {.padding = 1}},   // of nine tiles
                                 Conv2dProblem{{3, 33, 34, 16}, {16, 3, 3, 16}, {.padding = 1}},  // a thread's own
                                 Conv2dProblem{{2, 13, 18, 16}, {32, 3, 3, 16}, {.padding = 2, .dilation = 2}}}) {
    for (const DType weights : {DType::bf16, DType::f32}) {
      const HostTensor x = random_tensor(DType::bf16, p.x, 1), w = random_tensor(weights, p.w, 2, -0.5, 0.5);
      const HostTensor dy = random_tensor(DType::bf16, p.y(), 3);
      const std::vector<double> y = reference_conv2d(p.conv, x, w);
      if (get_implementation(Conv2d(p.conv), {x.desc, w.desc}) != name) GTEST_SKIP() << "no products of bf16";
      const auto check = [&](const OpPtr& op, std::vector<HostTensor> inputs, const std::vector<double>& expected) {
        EXPECT_EQ(get_implementation(*op, {inputs[0].desc, inputs[1].desc}), name);
        std::vector<double> result = run_op(op, inputs)[0].values;
        for (std::size_t i = 0; i < result.size(); ++i) result[i] -= expected[i];
        EXPECT_LT(rms(result), 0.005 * rms(expected)) << op->type();
        EXPECT_GT(rms(result), 0.0005 * rms(expected)) << "not of bf16: " << op->type();
      };
      check(std::make_shared<Conv2d>(p.conv), {x, w}, y);
      check(std::make_shared<Conv2dGradInput>(Conv2dGradInputAttributes{p.conv, p.x}), {dy, w},
            reference_conv2d_grad_input(p.conv, dy, w, p.x));
      check(std::make_shared<Conv2dGradWeight>(Conv2dGradWeightAttributes{p.conv, w.desc}), {x, dy},
            reference_conv2d_grad_weight(p.conv, x, dy, p.w));
    }
  }
}

TEST(WinogradEpilogue, AddsBiasAndResidualAndActivates) {
  const Conv2dProblem p{{2, 6, 5, 32}, {48, 3, 3, 32}, {.padding = 1}};
  const HostTensor x = random_tensor(DType::f32, p.x, 1), w = random_tensor(DType::f32, p.w, 2);
  const HostTensor bias = random_tensor(DType::f32, Shape{48}, 3), residual = random_tensor(DType::f32, p.y(), 4);
  for (const std::string& name : names) {
    const AskedForKernel asked(name);
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_erf}) {
      std::vector<double> y = reference_conv2d(p.conv, x, w);
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = activation_reference(activation, y[i] + bias.values[i % 48] + residual.values[i]);
      }
      const auto op = std::make_shared<Conv2d>(p.conv, activation);
      EXPECT_EQ(get_implementation(*op, {x.desc, w.desc, bias.desc, residual.desc}), name);
      std::vector<HostTensor> inputs{x, w, bias, residual};
      expect_close(run_op(op, inputs)[0].values, y, tolerance(DType::f32), name);
    }
  }
}

TEST(WinogradCandidates, AreOnlyFor3x3WithoutStrideGroupsWideDilationAndOddChannels) {
  const AskedForKernel asked("winograd");
  const auto taken = [](const Conv2dProblem& p) {
    const std::vector<TensorDesc> inputs{{DType::f32, p.x}, {DType::f32, p.w}};
    return get_implementation(Conv2d(p.conv), inputs).find("winograd") != std::string::npos;
  };
  EXPECT_TRUE(taken({{1, 8, 8, 16}, {16, 3, 3, 16}, {.padding = 1}}));
  EXPECT_FALSE(taken({{1, 8, 8, 16}, {16, 3, 3, 16}, {.stride = 2, .padding = 1}}));
  EXPECT_TRUE(taken({{1, 8, 8, 16}, {16, 3, 3, 16}, {.padding = 2, .dilation = 2}}));
  EXPECT_FALSE(taken({{1, 8, 8, 16}, {16, 3, 3, 16}, {.padding = 3, .dilation = 3}})) << "grids of 2 x 3 pixels";
  EXPECT_FALSE(taken({{1, 8, 8, 16}, {16, 1, 1, 16}, {}}));
  EXPECT_FALSE(taken({{1, 8, 8, 16}, {8, 3, 3, 16}, {.padding = 1}}));
  EXPECT_FALSE(taken({{1, 8, 8, 32}, {32, 3, 3, 16}, {.padding = 1, .groups = 2}}));
}

}  // namespace winograd_test
}  // namespace ptrain::testing

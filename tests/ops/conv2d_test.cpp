#include "core/ops/conv2d.h"

#include "core/cpu/registry.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/conv2d.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace {

struct Problem {
  Shape x, w;
  Conv2dAttributes conv;
};

OpCase make_case(const Problem& p, DType data, DType weights) {
  const Conv2dAttributes conv = p.conv;
  return {.op = std::make_shared<Conv2d>(conv),
          .inputs = {random_tensor(data, p.x, 1), random_tensor(weights, p.w, 2)},
          .reference =
              [conv](const auto& in) { return std::vector<std::vector<double>>{reference_conv2d(conv, in[0], in[1])}; },
          .gradient_inputs = {0, 1}};
}

class Conv2dCases : public ::testing::TestWithParam<Problem> {};

TEST_P(Conv2dCases, AgreeWithReferenceInEveryDtype) {
  check_op(make_case(GetParam(), DType::f32, DType::f32));
  check_op(make_case(GetParam(), DType::bf16, DType::bf16));
  check_op(make_case(GetParam(), DType::f16, DType::f16));
}

TEST_P(Conv2dCases, ConvertFp32Weights) {
  check_op(make_case(GetParam(), DType::bf16, DType::f32));
  check_op(make_case(GetParam(), DType::f16, DType::f32));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Conv2dCases,
    ::testing::Values(Problem{{1, 1, 1, 3}, {5, 1, 1, 3}, {}},                             // one pixel
                      Problem{{1, 1, 1, 8}, {4, 3, 3, 8}, {.padding = 1}},                 // mostly padding
                      Problem{{2, 3, 5, 16}, {32, 1, 1, 16}, {}},                          // 1x1
                      Problem{{2, 7, 5, 16}, {16, 1, 1, 16}, {.stride = 2}},               // strided 1x1, odd size
                      Problem{{2, 9, 7, 5}, {7, 3, 3, 5}, {.stride = 2, .padding = 1}},    // odd channels
                      Problem{{1, 4, 5, 16}, {6, 3, 3, 16}, {.padding = 1}},               // 3x3
                      Problem{{1, 9, 8, 4}, {3, 7, 7, 4}, {.stride = 2, .padding = 3}},    // stem
                      Problem{{2, 6, 6, 3}, {8, 3, 3, 3}, {.padding = 2, .dilation = 2}},  // dilated
                      Problem{{1, 5, 5, 8}, {12, 3, 3, 2}, {.padding = 1, .groups = 4}},   // grouped
                      Problem{{1, 8, 8, 4}, {4, 2, 2, 4}, {.stride = 3}}));                // leftover pixels

/// The weight gradient by the kernel that is preferred when nothing is timed: on AMX the own one.
template <typename Result>
std::vector<double> preferred_grad_weight(const Conv2dGradWeight& op, const std::vector<HostTensor>& inputs) {
  std::vector<std::vector<bf16>> data;
  for (const HostTensor& t : inputs) {
    data.emplace_back();
    for (const double v : t.values) data.back().push_back(bf16(static_cast<float>(v)));
  }
  const std::vector<TensorDesc> descs{inputs[0].desc, inputs[1].desc}, results = op.infer(descs);
  const auto kernel = cpu::find_kernel(op.type())({op, descs, results, false});
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> workspace(kernel->workspace_bytes() / 64 + 1);
  std::vector<Result> dw(static_cast<std::size_t>(results[0].count()));
  const std::vector<void*> in{data[0].data(), data[1].data()}, out{dw.data()};
  kernel->run({in, out, workspace.data()});
  return {dw.begin(), dw.end()};
}

TEST(Conv2d, PointwiseWeightGradientAgreesWhenPixelsDoNotFillTiles) {
  for (const Conv2dAttributes conv : {Conv2dAttributes{}, Conv2dAttributes{.stride = 2}}) {
    const Shape x{3, 17, 19, 32}, w{64, 1, 1, 32}, y{3, conv.output_size(17, 1), conv.output_size(19, 1), 64};
    const std::vector<HostTensor> inputs{random_tensor(DType::bf16, x, 1), random_tensor(DType::bf16, y, 2)};
    std::vector<double> expected(64 * 32);
    for (std::int64_t m = 0; m < y.count() / 64; ++m) {
      const std::int64_t q = m % y[2], p = m / y[2] % y[1], n = m / (y[2] * y[1]);
      const std::int64_t from = (n * 17 + p * conv.stride) * 19 + q * conv.stride;
      for (std::int64_t i = 0; i < 64 * 32; ++i) {
        expected[static_cast<std::size_t>(i)] += inputs[1].values[static_cast<std::size_t>(m * 64 + i / 32)] *
                                                 inputs[0].values[static_cast<std::size_t>(from * 32 + i % 32)];
      }
    }
    const Conv2dGradWeight full({conv, {DType::f32, w}}), rounded({conv, {DType::bf16, w}});
    expect_close(preferred_grad_weight<float>(full, inputs), expected, 1e-5, "dw f32");
    expect_close(preferred_grad_weight<bf16>(rounded, inputs), expected, tolerance(DType::bf16), "dw bf16");
  }
}

TEST(Conv2d, CountsMultiplyAddsTwice) {
  const Conv2d op({.stride = 1, .padding = 1});
  const std::vector<TensorDesc> inputs{{DType::f32, {2, 8, 8, 16}}, {DType::f32, {32, 3, 3, 16}}};
  const auto outputs = op.infer(inputs);
  EXPECT_EQ(op.cost(inputs, outputs).flops, 2.0 * 2 * 8 * 8 * 32 * 9 * 16);
}

TEST(Conv2d, RefusesWeightsThatDoNotFit) {
  const Conv2d op({});
  const std::vector<TensorDesc> wrong{{DType::f32, {2, 8, 8, 16}}, {DType::f32, {32, 3, 3, 8}}};
  EXPECT_THROW(op.infer(wrong), std::invalid_argument);
  const std::vector<TensorDesc> small{{DType::f32, {2, 2, 2, 16}}, {DType::f32, {32, 3, 3, 16}}};
  EXPECT_THROW(op.infer(small), std::invalid_argument);
}

}  // namespace
}  // namespace ptrain::testing

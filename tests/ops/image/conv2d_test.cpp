#include "core/ops/image/conv2d.h"

#include "core/cpu/cpu_kernel_registry.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/activation.h"
#include "tests/ops/reference/conv2d.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace conv2d_test {

using Problem = Conv2dProblem;

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
                      Problem{{1, 6, 5, 9}, {9, 3, 3, 1}, {.stride = 2, .padding = 1, .groups = 9}},  // depthwise
                      Problem{{1, 5, 6, 20}, {20, 5, 5, 1}, {.padding = 2, .groups = 20}},
                      Problem{{1, 8, 8, 4}, {4, 2, 2, 4}, {.stride = 3}}),  // leftover pixels
    case_name);

/// A layer from K to C channels: each pixel of dy is added to the pixels that it comes from.
std::vector<double> reference_transposed(const Problem& p, const HostTensor& dy, const HostTensor& w) {
  const Shape y = dy.desc.shape, &x = p.x, &kernel = p.w;
  const std::int64_t outputs = kernel[0] / p.conv.groups;  // of a group
  std::vector<double> dx(static_cast<std::size_t>(x.count()));
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const std::int64_t k = i % y[3], q = i / y[3] % y[2], row = i / y[3] / y[2] % y[1], n = i / y[3] / y[2] / y[1];
    for (std::int64_t r = 0; r < kernel[1]; ++r)
      for (std::int64_t s = 0; s < kernel[2]; ++s)
        for (std::int64_t c = 0; c < kernel[3]; ++c) {
          const std::int64_t h = row * p.conv.stride + r * p.conv.dilation - p.conv.padding;
          const std::int64_t across = q * p.conv.stride + s * p.conv.dilation - p.conv.padding;
          if (h < 0 || h >= x[1] || across < 0 || across >= x[2]) continue;
          dx[static_cast<std::size_t>(((n * x[1] + h) * x[2] + across) * x[3] + k / outputs * kernel[3] + c)] +=
              dy.values[static_cast<std::size_t>(i)] *
              w.values[static_cast<std::size_t>(((k * kernel[1] + r) * kernel[2] + s) * kernel[3] + c)];
        }
  }
  return dx;
}

TEST(Conv2d, ItsInputGradientIsATransposedConvolution) {
  for (const Problem& p : {Problem{{2, 6, 8, 5}, {7, 2, 2, 5}, {.stride = 2}},
                           Problem{{1, 7, 5, 8}, {16, 3, 3, 8}, {.stride = 2, .padding = 1}},
                           Problem{{1, 4, 4, 6}, {4, 3, 3, 3}, {.padding = 1, .groups = 2}}}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      check_op(
          {.op = std::make_shared<Conv2dGradInput>(Conv2dGradInputAttributes{p.conv, p.x}),
           .inputs = {random_tensor(dtype, p.y(), 1), random_tensor(dtype, p.w, 2)},
           .reference =
               [p](const auto& in) { return std::vector<std::vector<double>>{reference_transposed(p, in[0], in[1])}; },
           .gradient_inputs = {0, 1}});
    }
  }
}

struct Dtypes {
  DType data, weights;
};

/// What follows the sums: a bias, and a residual that may be absent.
OpCase inference_case(const Problem& p, Dtypes dtypes, Activation activation, bool residual) {
  OpCase c = make_case(p, dtypes.data, dtypes.weights);
  c.op = std::make_shared<Conv2d>(p.conv, activation);
  c.inputs.push_back(random_tensor(DType::f32, Shape{p.w[0]}, 3));
  c.inputs.push_back(residual ? random_tensor(dtypes.data, p.y(), 4) : absent_tensor());
  c.gradient_inputs.clear();
  c.reference = [conv = p.conv, activation](const auto& in) {
    std::vector<double> y = reference_conv2d(conv, in[0], in[1]);
    const std::vector<double>&bias = in[2].values, &added = in[3].values;
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = activation_reference(activation, y[i] + bias[i % bias.size()] + (in[3].absent ? 0 : added[i]));
    }
    return std::vector<std::vector<double>>{y};
  };
  c.tolerance_scale = 2;  // where a pass of its own follows the sums, these are rounded before it
  return c;
}

TEST_P(Conv2dCases, TakeInBiasResidualAndActivationForInference) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_erf}) {
    check_op(inference_case(GetParam(), {DType::f32, DType::f32}, activation, true));
    check_op(inference_case(GetParam(), {DType::f32, DType::f32}, activation, false));
  }
  for (const Dtypes dtypes : {Dtypes{DType::bf16, DType::bf16}, {DType::bf16, DType::f32}, {DType::f16, DType::f16}}) {
    check_op(inference_case(GetParam(), dtypes, Activation::relu, true));
    check_op(inference_case(GetParam(), dtypes, Activation::gelu_erf, false));
  }
}

/// Alternates channels whose bias opens the ReLU and channels whose bias closes it: far from where it bends.
OpCase biased_case(const Problem& p, Dtypes dtypes, Activation activation) {
  OpCase c = make_case(p, dtypes.data, dtypes.weights);
  c.op = std::make_shared<Conv2d>(p.conv, activation);
  c.inputs.push_back(random_tensor(DType::f32, Shape{p.w[0]}, 3));
  std::vector<double>& bias = c.inputs.back().values;
  for (std::size_t k = 0; k < bias.size(); ++k) bias[k] += activation == Activation::none ? 0 : k % 2 == 0 ? 32 : -32;
  c.gradient_inputs = {0, 1, 2};
  c.reference = [conv = p.conv, activation](const auto& in) {
    std::vector<double> y = reference_conv2d(conv, in[0], in[1]);
    const std::vector<double>& added = in[2].values;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = activation_reference(activation, y[i] + added[i % added.size()]);
    return std::vector<std::vector<double>>{y};
  };
  c.tolerance_scale = 2;
  return c;
}

/// The same with a residual.
OpCase residual_case(const Problem& p, Dtypes dtypes) {
  OpCase c = biased_case(p, dtypes, Activation::relu);
  c.inputs.push_back(random_tensor(dtypes.data, p.y(), 4));
  c.gradient_inputs.push_back(Conv2d::residual);
  c.reference = [conv = p.conv](const auto& in) {
    std::vector<double> y = reference_conv2d(conv, in[0], in[1]);
    const std::vector<double>&bias = in[2].values, &added = in[3].values;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::max(0.0, y[i] + bias[i % bias.size()] + added[i]);
    return std::vector<std::vector<double>>{y};
  };
  return c;
}

TEST_P(Conv2dCases, TrainAResidual) {
  for (const Dtypes dtypes : {Dtypes{DType::f32, DType::f32}, {DType::bf16, DType::bf16}, {DType::f16, DType::f16}}) {
    check_op(residual_case(GetParam(), dtypes));
  }
}

TEST_P(Conv2dCases, TrainABias) {
  check_op(biased_case(GetParam(), {DType::f32, DType::f32}, Activation::none));
  check_op(biased_case(GetParam(), {DType::bf16, DType::f32}, Activation::none));
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(biased_case(GetParam(), {dtype, dtype}, Activation::relu));
  }
}

TEST(Conv2d, SumsTheBiasGradientOfManyPixels) {
  OpCase c = biased_case({{3, 65, 63, 4}, {21, 1, 1, 4}, {}}, {DType::f32, DType::f32}, Activation::none);
  std::vector<HostTensor> inputs = c.inputs;
  const HostTensor dy = random_tensor(DType::f32, run_op(c.op, inputs)[0].desc.shape, 5, 0, 1);
  std::vector<double> sums(21);
  for (std::size_t i = 0; i < dy.values.size(); ++i) sums[i % sums.size()] += dy.values[i];
  expect_close(run_gradient(c, {dy})[2].values, sums, tolerance(DType::f32), "bias gradient");
}

/// The weight gradient by the kernel that is preferred when nothing is timed: with AVX-512 the own one.
template <typename Data, typename Result>
std::vector<double> preferred_grad_weight(const Conv2dGradWeight& op, const std::vector<HostTensor>& inputs) {
  std::vector<std::vector<Data>> data;
  for (const HostTensor& t : inputs) {
    data.emplace_back();
    for (const double v : t.values) data.back().push_back(Data(static_cast<float>(v)));
  }
  const std::vector<TensorDesc> descs{inputs[0].desc, inputs[1].desc}, results = op.infer(descs);
  const auto kernel = cpu::find_kernel(op.type())({op, descs, results, {.exhaustive_search = false}});
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> workspace(kernel->workspace_bytes() / 64 + 1);
  std::vector<Result> dw(static_cast<std::size_t>(results[0].count()));
  const std::vector<void*> in{data[0].data(), data[1].data()}, out{dw.data()};
  kernel->run({in, out, workspace.data()});
  return {dw.begin(), dw.end()};
}

TEST(Conv2d, PreferredWeightGradientAgreesWhereverPixelsEndAndPaddingBegins) {
  const std::vector<Problem> problems{
      {{3, 17, 19, 32}, {64, 1, 1, 32}, {}},
      {{3, 17, 19, 32}, {64, 1, 1, 32}, {.stride = 2}},
      {{2, 5, 6, 32}, {32, 3, 3, 32}, {.padding = 1}},
      {{2, 7, 4, 64}, {32, 3, 3, 64}, {.stride = 2, .padding = 1}},
      {{3, 1, 1, 32}, {32, 3, 3, 32}, {.padding = 1}},  // taps that see only padding
      {{1, 6, 6, 32}, {32, 3, 3, 32}, {.padding = 2, .dilation = 2}},
      {{1, 3, 3, 288}, {320, 1, 1, 288}, {}},  // several blocks, the last a part
  };
  for (const Problem& p : problems) {
    const Conv2dGradWeight full({p.conv, {DType::f32, p.w}}), rounded({p.conv, {DType::bf16, p.w}});
    const std::vector<HostTensor> f32{random_tensor(DType::f32, p.x, 1), random_tensor(DType::f32, p.y(), 2)};
    const std::vector<double> expected_f32 = reference_conv2d_grad_weight(p.conv, f32[0], f32[1], p.w);
    const auto from_f32 = preferred_grad_weight<float, float>(full, f32);
    expect_close(from_f32, expected_f32, tolerance(DType::f32), "f32");
    const std::vector<HostTensor> low{random_tensor(DType::bf16, p.x, 1), random_tensor(DType::bf16, p.y(), 2)};
    const std::vector<double> expected = reference_conv2d_grad_weight(p.conv, low[0], low[1], p.w);
    const auto from_bf16 = preferred_grad_weight<bf16, float>(full, low);
    expect_close(from_bf16, expected, 1e-5, "bf16, dw f32");
    const auto rounded_once = preferred_grad_weight<bf16, bf16>(rounded, low);
    expect_close(rounded_once, expected, tolerance(DType::bf16), "bf16, dw bf16");
  }
}

/// A kernel whose weights are constant, on data of its own.
class PackingKernel {
 public:
  explicit PackingKernel(bool search = true)
      : kernel_(cpu::find_kernel(op_.type())(
            {op_, descs_, results_, {.exhaustive_search = search, .constant_weights = true}})) {
    workspace_.resize(kernel_->workspace_bytes() / 64 + 1);
  }

  void take_weights(ConstantStore& kept) { kernel_->weights_changed(kept); }

  std::vector<double> run(std::vector<float>& weights) {
    std::vector<float> data(x_.values.begin(), x_.values.end()), y(static_cast<std::size_t>(results_[0].count()));
    const std::vector<void*> in{data.data(), weights.data()}, out{y.data()};
    kernel_->run({in, out, workspace_.data()});
    return {y.begin(), y.end()};
  }

  void expect_result(const HostTensor& w, std::vector<float>& weights) {
    expect_close(run(weights), reference_conv2d(op_.attrs(), x_, w), tolerance(DType::f32), "packed");
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  Conv2d op_{{.padding = 1}};
  HostTensor x_ = random_tensor(DType::f32, {1, 5, 5, 32}, 1);
  std::vector<TensorDesc> descs_{x_.desc, {DType::f32, {32, 3, 3, 32}}}, results_ = op_.infer(descs_);
  std::unique_ptr<Kernel> kernel_;  // the search ran it on weights of its own
  std::vector<Line> workspace_;
};

TEST(Conv2d, PacksConstantWeightsOnceAndAgainWhenTheyChange) {
  PackingKernel kernel;
  for (const std::uint64_t seed : {2, 3}) {
    const HostTensor w = random_tensor(DType::f32, {32, 3, 3, 32}, seed);
    std::vector<float> weights(w.values.begin(), w.values.end());
    ConstantStore kept;
    kernel.take_weights(kept);
    for (int run = 0; run < 2; ++run) kernel.expect_result(w, weights);
  }
}

TEST(Conv2d, SharesPackedWeights) {
  PackingKernel one(false), other(false);  // searches may choose two kernels, which want two layouts
  const HostTensor w = random_tensor(DType::f32, {32, 3, 3, 32}, 2);
  std::vector<float> weights(w.values.begin(), w.values.end());
  ConstantStore kept;
  one.take_weights(kept);
  one.expect_result(w, weights);
  weights.assign(weights.size(), 0);  // only what was packed knows them still
  other.take_weights(kept);
  other.expect_result(w, weights);
}

TEST(Conv2d, CountsMultiplyAddsTwice) {
  const Conv2d op({.stride = 1, .padding = 1});
  const std::vector<TensorDesc> inputs{{DType::f32, {2, 8, 8, 16}}, {DType::f32, {32, 3, 3, 16}}};
  const auto outputs = op.infer(inputs);
  EXPECT_EQ(op.cost(inputs, outputs).flops, 2.0 * 2 * 8 * 8 * 32 * 9 * 16);
}

TEST(Conv2d, RefusesABiasOrAResidualThatDoesNotFit) {
  const Conv2d op(Conv2d::Attributes{}, Activation::relu);
  const TensorDesc x{DType::bf16, {2, 8, 8, 16}}, w{DType::bf16, {32, 1, 1, 16}}, y{DType::bf16, {2, 8, 8, 32}};
  const auto infer = [&](const TensorDesc& bias, const TensorDesc& residual) {
    return op.infer(std::vector<TensorDesc>{x, w, bias, residual});
  };
  const TensorDesc bias{DType::f32, {32}};
  EXPECT_EQ(infer(bias, y).front(), y);
  EXPECT_EQ(infer(bias, absent_input()).front(), y);
  EXPECT_THROW(infer({DType::f32, {16}}, y), std::invalid_argument);
  EXPECT_THROW(infer({DType::bf16, {32}}, y), std::invalid_argument);
  EXPECT_THROW(infer(bias, x), std::invalid_argument);
}

TEST(Conv2d, RefusesWeightsThatDoNotFit) {
  const Conv2d op(Conv2d::Attributes{});
  const std::vector<TensorDesc> wrong{{DType::f32, {2, 8, 8, 16}}, {DType::f32, {32, 3, 3, 8}}};
  EXPECT_THROW(op.infer(wrong), std::invalid_argument);
  const std::vector<TensorDesc> small{{DType::f32, {2, 2, 2, 16}}, {DType::f32, {32, 3, 3, 16}}};
  EXPECT_THROW(op.infer(small), std::invalid_argument);
}

}  // namespace conv2d_test
}  // namespace ptrain::testing

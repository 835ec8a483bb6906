#include "core/ops/image/conv2d_batch_norm.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/conv2d.h"

#include <gtest/gtest.h>

#include <ostream>

namespace ptrain::testing {
namespace conv2d_batch_norm_test {

using Problem = Conv2dProblem;

/// relu(x * scale + offset), rounded to x's dtype.
HostTensor prologue(const HostTensor& x, const HostTensor& scale, const HostTensor& offset) {
  HostTensor result = x;
  const std::size_t channels = scale.values.size();
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double v = x.values[i] * scale.values[i % channels] + offset.values[i % channels];
    result.values[i] = round_to(x.desc.dtype, std::max(0.0, v));
  }
  return result;
}

/// Sums over the rows of [rows,channels] of what `term` gives for (element, channel).
template <typename Term>
std::vector<double> channel_sums(std::size_t elements, std::size_t channels, Term&& term) {
  std::vector<double> sums(channels);
  for (std::size_t i = 0; i < elements; ++i) sums[i % channels] += term(i, i % channels);
  return sums;
}

HostTensor channels(const Shape& data, std::uint64_t seed, double low = -1, double high = 1) {
  return random_tensor(DType::f32, {data[-1]}, seed, low, high);
}

OpCase forward_case(const Problem& p, DType dtype, bool with_prologue) {
  OpCase c{.op = std::make_shared<Conv2dBatchNorm>(p.conv),
           .inputs = {random_tensor(dtype, p.x, 1), random_tensor(dtype, p.w, 2)},
           .reference = [conv = p.conv](const std::vector<HostTensor>& in) {
             const HostTensor a = in[2].absent ? in[0] : prologue(in[0], in[2], in[3]);
             const std::vector<double> y = reference_conv2d(conv, a, in[1]);
             const auto k = static_cast<std::size_t>(in[1].desc.shape[0]);
             return std::vector{y, channel_sums(y.size(), k, [&](std::size_t i, std::size_t) { return y[i]; }),
                                channel_sums(y.size(), k, [&](std::size_t i, std::size_t) { return y[i] * y[i]; })};
           }};
  c.inputs.push_back(with_prologue ? channels(p.x, 3, 0.5, 1.5) : absent_tensor());
  c.inputs.push_back(with_prologue ? channels(p.x, 4) : absent_tensor());
  c.tolerance_scale = 2;  // sums over rounded values
  return c;
}

OpCase grad_input_case(const Problem& p, DType dtype) {
  return {
      .op = std::make_shared<Conv2dBatchNormGradInput>(p.conv),
      .inputs = {random_tensor(dtype, p.y(), 1), random_tensor(dtype, p.w, 2), random_tensor(dtype, p.x, 3),
                 channels(p.x, 4, -0.2, 0.2), channels(p.x, 5, 0.5, 2), channels(p.x, 6, 0.5, 1.5), channels(p.x, 7)},
      .reference =
          [conv = p.conv](const std::vector<HostTensor>& in) {
            using Op = Conv2dBatchNormGradInput;
            std::vector<double> dz = reference_conv2d_grad_input(conv, in[Op::dy], in[Op::w], in[Op::x].desc.shape);
            const auto c = static_cast<std::size_t>(in[Op::x].desc.shape[-1]);
            const auto normed = [&](std::size_t i) {
              return (in[Op::x].values[i] - in[Op::saved_mean].values[i % c]) * in[Op::saved_invstd].values[i % c];
            };
            for (std::size_t i = 0; i < dz.size(); ++i) {
              if (normed(i) * in[Op::gamma].values[i % c] + in[Op::beta].values[i % c] <= 0) dz[i] = 0;
            }
            return std::vector{
                dz, channel_sums(dz.size(), c, [&](std::size_t i, std::size_t) { return dz[i] * normed(i); }),
                channel_sums(dz.size(), c, [&](std::size_t i, std::size_t) { return dz[i]; })};
          },
      .tolerance_scale = 2};
}

OpCase grad_weight_case(const Problem& p, DType dtype) {
  const TensorDesc weight{dtype, p.w};
  return {.op = std::make_shared<Conv2dBatchNormGradWeight>(Conv2dBatchNormGradWeight::Attributes{p.conv, weight}),
          .inputs = {random_tensor(dtype, p.x, 1), random_tensor(dtype, p.y(), 2), channels(p.x, 3, 0.5, 1.5),
                     channels(p.x, 4)},
          .reference = [conv = p.conv, weight](const std::vector<HostTensor>& in) {
            const HostTensor a = prologue(in[0], in[2], in[3]);
            return std::vector<std::vector<double>>{reference_conv2d_grad_weight(conv, a, in[1], weight.shape)};
          }};
}

class Conv2dBatchNormCases : public ::testing::TestWithParam<Problem> {};

TEST_P(Conv2dBatchNormCases, MakeTheSumsOfTheirResult) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) check_op(forward_case(GetParam(), dtype, false));
}

TEST_P(Conv2dBatchNormCases, ApplyTheNormBeforeThem) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) check_op(forward_case(GetParam(), dtype, true));
}

TEST_P(Conv2dBatchNormCases, GradInputIsMaskedAndSummed) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) check_op(grad_input_case(GetParam(), dtype));
}

TEST_P(Conv2dBatchNormCases, GradWeightAppliesTheNormBefore) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) check_op(grad_weight_case(GetParam(), dtype));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv2dBatchNormCases,
                         ::testing::Values(Problem{{2, 6, 6, 16}, {24, 1, 1, 16}, {}},
                                           Problem{{2, 7, 5, 16}, {16, 3, 3, 16}, {.padding = 1}},
                                           Problem{{2, 8, 8, 8}, {16, 3, 3, 8}, {.stride = 2, .padding = 1}},
                                           Problem{{3, 5, 5, 5}, {7, 1, 1, 5}, {.stride = 2}}),
                         case_name);

TEST(Conv2dBatchNorm, RefusesAScaleWithoutAnOffset) {
  const TensorDesc data{DType::f32, {1, 4, 4, 8}}, weight{DType::f32, {8, 1, 1, 8}}, scale{DType::f32, {8}};
  const std::vector<TensorDesc> both{data, weight, scale, scale}, one{data, weight, scale, absent_input()};
  EXPECT_NO_THROW(Conv2dBatchNorm(Conv2dBatchNorm::Attributes{}).infer(both));
  EXPECT_THROW(Conv2dBatchNorm(Conv2dBatchNorm::Attributes{}).infer(one), std::invalid_argument);
}

}  // namespace conv2d_batch_norm_test
}  // namespace ptrain::testing

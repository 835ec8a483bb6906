#include "core/ops/normalization/batch_norm.h"

#include "core/base/parallel.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/batch_norm.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace batch_norm_test {

struct Problem {
  Shape x;
  Activation activation = Activation::none;
  bool residual = false;
};
void PrintTo(const Problem& p, std::ostream* out) {
  *out << p.x.to_string() << (p.residual ? " residual" : "") << (p.activation == Activation::none ? "" : " ")
       << (p.activation == Activation::none ? "" : to_string(p.activation));
}

std::vector<HostTensor> make_inputs(const Problem& p, DType dtype) {
  const Shape channels{p.x[-1]};
  const double highest =
      p.activation == Activation::none || p.activation == Activation::relu ? 1.5 : 8;  // past upper bends
  std::vector<HostTensor> inputs{random_tensor(dtype, p.x, 1, -2, 3),
                                 random_tensor(DType::f32, channels, 2, 0.5, highest),
                                 random_tensor(DType::f32, channels, 3), random_tensor(DType::f32, channels, 4),
                                 random_tensor(DType::f32, channels, 5, 0.5, 2)};
  inputs.push_back(p.residual ? random_tensor(dtype, p.x, 6) : absent_tensor());
  return inputs;
}

OpCase make_case(const Problem& p, DType dtype) {
  const BatchNorm::Attributes attrs{.activation = p.activation};
  OpCase c{.op = std::make_shared<BatchNorm>(attrs),
           .inputs = make_inputs(p, dtype),
           .reference =
               [attrs](const auto& in) {
                 const BatchNormResult r = reference_batch_norm(attrs, in);
                 std::vector outputs{r.y, r.mean, r.invstd};
                 if (attrs.activation != Activation::none && !in[BatchNorm::residual].absent) {
                   outputs.push_back(reference_mask(attrs.activation, r.y));
                 }
                 return outputs;
               },
           .gradient_inputs = {BatchNorm::x, BatchNorm::gamma, BatchNorm::beta}};
  if (p.residual) c.gradient_inputs.push_back(BatchNorm::residual);
  return c;
}

class BatchNormCases : public ::testing::TestWithParam<Problem> {};

TEST_P(BatchNormCases, TrainingAgreesWithReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) check_op(make_case(GetParam(), dtype));
}

TEST_P(BatchNormCases, UpdatesRunningStatistics) {
  const OpCase c = make_case(GetParam(), DType::f32);
  const BatchNormResult expected = reference_batch_norm({.activation = GetParam().activation}, c.inputs);
  std::vector<HostTensor> inputs = c.inputs;
  run_op(c.op, inputs);
  expect_close(inputs[BatchNorm::running_mean].values, expected.running_mean, 1e-5, "running_mean");
  expect_close(inputs[BatchNorm::running_var].values, expected.running_var, 1e-5, "running_var");
}

TEST_P(BatchNormCases, InferenceUsesRunningStatistics) {
  const BatchNorm::Attributes attrs{.activation = GetParam().activation, .training = false};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<BatchNorm>(attrs),
              .inputs = make_inputs(GetParam(), dtype),
              .reference = [attrs](const auto& in) {
                return std::vector<std::vector<double>>{reference_batch_norm(attrs, in).y};
              }});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BatchNormCases,
    ::testing::Values(Problem{{2, 3, 5, 16}}, Problem{{2, 3, 5, 16}, Activation::relu},
                      Problem{{2, 3, 5, 16}, Activation::none, true}, Problem{{2, 3, 5, 16}, Activation::relu, true},
                      Problem{{3, 3, 3, 24}, Activation::relu, true}, Problem{{4, 1, 1, 40}, Activation::relu},
                      Problem{{9, 8}, Activation::relu, true}, Problem{{1, 9, 9, 1}},
                      Problem{{1, 5, 7, 3}, Activation::relu}, Problem{{2, 3, 5, 16}, Activation::relu6},
                      Problem{{2, 3, 5, 16}, Activation::relu6, true}, Problem{{2, 3, 5, 16}, Activation::hard_swish},
                      Problem{{1, 9, 7, 21}, Activation::hard_swish}, Problem{{2, 3, 5, 16}, Activation::silu},
                      Problem{{1, 9, 7, 21}, Activation::silu}),
    case_name);

TEST(BatchNorm, KeepsPrecisionWhenTheMeanIsLarge) {
  OpCase c = make_case({{2, 40, 40, 16}}, DType::f32);
  for (double& v : c.inputs[BatchNorm::x].values) v = round_to(DType::f32, v + 3000);
  c.gradient_inputs.clear();
  c.tolerance_scale = 10;  // the saved mean itself is rounded to fp32: 1.2e-4 at 3000
  check_op(c);
}

TEST(BatchNorm, GivesTheSameBitsForAnyThreadCount) {
  const OpCase c = make_case({{3, 33, 31, 48}, Activation::relu}, DType::f32);
  const int before = thread_count();
  std::vector<std::vector<HostTensor>> results;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    std::vector<HostTensor> inputs = c.inputs;
    results.push_back(run_op(c.op, inputs));
    results.back().push_back(run_gradient(c, {random_tensor(DType::f32, c.inputs[0].desc.shape, 7)})[0]);
  }
  set_thread_count(before);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_EQ(results[0][i].values, results[1][i].values);
    EXPECT_EQ(results[0][i].values, results[2][i].values);
  }
}

/// Of an output that is read in two places; on the CPU in fp32 to the bit. A GPU's library takes the sum alone.
TEST(BatchNorm, AddsBothPartsOfAGradient) {
  const auto op = std::make_shared<BatchNormGrad>(BatchNormGrad::Attributes{Activation::relu, /*residual=*/true});
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Shape& shape : {Shape{2, 3, 5, 16}, Shape{3, 3, 3, 24}}) {
      const Shape channels{shape[-1]};
      std::vector<HostTensor> inputs{random_tensor(dtype, shape, 1), random_tensor(dtype, shape, 2)};
      for (const std::uint64_t seed : {3, 4, 5, 6})
        inputs.push_back(random_tensor(DType::f32, channels, seed, 0.5, 1.5));
      inputs.push_back(random_mask(shape, 7));
      std::vector<HostTensor> whole = inputs;
      inputs.push_back(random_tensor(dtype, shape, 8));
      std::vector<double> sum = inputs[BatchNormGrad::dy].values;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += inputs[BatchNormGrad::dy_more].values[i];
      whole[BatchNormGrad::dy] = tensor(dtype, shape, sum);
      const std::vector<HostTensor> actual = run_op(op, inputs), expected = run_op(op, whole);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        if (dtype == DType::f32 && make_test_backend()->name() == "cpu") {
          EXPECT_EQ(actual[k].values, expected[k].values) << "output " << k;
        }
        expect_close(actual[k].values, expected[k].values, tolerance(dtype), "output");
      }
    }
  }
}

TEST(BatchNorm, TakesASecondGradientOnlyWithAResidual) {
  const TensorDesc data{DType::f32, {2, 2, 2, 8}}, channels{DType::f32, {8}};
  const std::vector<TensorDesc> inputs{data, data, channels, channels, channels, channels, mask_desc(data), data};
  EXPECT_NO_THROW(BatchNormGrad({Activation::relu, true}).infer(inputs));
  EXPECT_THROW(BatchNormGrad({Activation::relu, false}).infer(inputs), std::invalid_argument);
}

TEST(BatchNorm, MasksWholeBytesOfGates) {
  const TensorDesc channels{DType::f32, {8}}, odd_channels{DType::f32, {9}};
  const TensorDesc data{DType::f32, {2, 2, 2, 8}}, odd{DType::f32, {2, 2, 2, 9}};
  const std::vector<TensorDesc> inputs{data, channels, channels, channels, channels, data};
  EXPECT_EQ(BatchNorm({.activation = Activation::relu}).infer(inputs)[BatchNorm::mask],
            (TensorDesc{DType::u8, {2, 2, 2, 1}}));
  EXPECT_EQ(BatchNorm(BatchNorm::Attributes{}).infer(inputs).size(), 3u);
  EXPECT_EQ(BatchNorm({.activation = Activation::relu, .training = false}).infer(inputs).size(), 1u);
  EXPECT_THROW(BatchNorm({.activation = Activation::silu}).infer(inputs), std::invalid_argument);
  const std::vector<TensorDesc> odd_inputs{odd, odd_channels, odd_channels, odd_channels, odd_channels, odd};
  EXPECT_THROW(BatchNorm({.activation = Activation::relu}).infer(odd_inputs), std::invalid_argument);
}

TEST(BatchNorm, RefusesOneValuePerChannelInTraining) {
  const TensorDesc channels{DType::f32, {8}};
  const std::vector<TensorDesc> inputs{{DType::f32, {1, 1, 1, 8}}, channels, channels, channels, channels};
  EXPECT_THROW(BatchNorm(BatchNorm::Attributes{}).infer(inputs), std::invalid_argument);
  EXPECT_NO_THROW(BatchNorm({.training = false}).infer(inputs));
}

}  // namespace batch_norm_test
}  // namespace ptrain::testing

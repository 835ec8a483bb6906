#include "core/ops/normalization/batch_norm_parts.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/batch_norm.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace batch_norm_parts_test {

constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::f16};
const Shape shapes[] = {{2, 3, 5, 16}, {3, 3, 3, 21}, {9, 5}};
const Shape masked_shapes[] = {{2, 3, 5, 16}, {3, 3, 3, 24}, {9, 8}};

HostTensor channels(const Shape& data, std::uint64_t seed, double low = -1, double high = 1) {
  return random_tensor(DType::f32, {data[-1]}, seed, low, high);
}

/// batch_norm's inputs, whose parts are to give the same.
std::vector<HostTensor> norm_inputs(const Shape& shape, DType dtype) {
  return {random_tensor(dtype, shape, 1, -2, 3), channels(shape, 2, 0.5, 1.5), channels(shape, 3), channels(shape, 4),
          channels(shape, 5, 0.5, 2)};
}

TEST(BatchNormParts, FinalizeGivesBatchNormsStatistics) {
  for (const Shape& shape : shapes) {
    const std::vector<HostTensor> norm = norm_inputs(shape, DType::f32);
    const auto c = static_cast<std::size_t>(shape[-1]);
    std::vector<double> sum(c), squares(c);
    for (std::size_t i = 0; i < norm[0].values.size(); ++i) {
      sum[i % c] += norm[0].values[i];
      squares[i % c] += norm[0].values[i] * norm[0].values[i];
    }
    std::vector<HostTensor> inputs{tensor(DType::f32, {shape[-1]}, sum),
                                   tensor(DType::f32, {shape[-1]}, squares),
                                   norm[1],
                                   norm[2],
                                   norm[3],
                                   norm[4]};
    const BatchNormFinalize::Attributes attrs{.count = shape.count() / shape[-1]};
    const auto outputs = run_op(std::make_shared<BatchNormFinalize>(attrs), inputs);
    const BatchNormResult expected = reference_batch_norm({}, norm);
    expect_close(outputs[0].values, expected.mean, 1e-5, "mean");
    expect_close(outputs[1].values, expected.invstd, 1e-5, "invstd");
    expect_close(inputs[4].values, expected.running_mean, 1e-5, "running_mean");
    expect_close(inputs[5].values, expected.running_var, 1e-5, "running_var");
    for (std::size_t i = 0; i < c; ++i) {
      const double scale = norm[1].values[i] * expected.invstd[i];
      EXPECT_NEAR(outputs[2].values[i], scale, 1e-5);
      EXPECT_NEAR(outputs[3].values[i], norm[2].values[i] - expected.mean[i] * scale, 1e-5);
    }
  }
}

enum class Residual { none, plain, normed };

OpCase apply_case(const Shape& shape, DType dtype, Activation activation, Residual residual, bool mask = false) {
  OpCase c{.op = std::make_shared<BatchNormApply>(BatchNormApply::Attributes{activation, mask}),
           .inputs = {random_tensor(dtype, shape, 1, -9, 9), channels(shape, 2), channels(shape, 3)},
           .reference = [activation, mask](const std::vector<HostTensor>& in) {
             std::vector<double> y = in[0].values;
             const std::size_t n = in[1].values.size();
             for (std::size_t i = 0; i < y.size(); ++i) {
               y[i] = y[i] * in[1].values[i % n] + in[2].values[i % n];
               if (!in[3].absent && in[4].absent) y[i] += in[3].values[i];
               if (!in[4].absent) y[i] += in[3].values[i] * in[4].values[i % n] + in[5].values[i % n];
               y[i] = activation_reference(activation, y[i]);
             }
             std::vector<std::vector<double>> outputs{y};
             if (mask) outputs.push_back(reference_mask(activation, y));
             return outputs;
           }};
  c.inputs.push_back(residual == Residual::none ? absent_tensor() : random_tensor(dtype, shape, 4));
  for (const std::uint64_t seed : {5, 6}) {
    c.inputs.push_back(residual == Residual::normed ? channels(shape, seed) : absent_tensor());
  }
  return c;
}

TEST(BatchNormParts, ApplyAgreesWithReferenceInEveryDtype) {
  for (const DType dtype : dtypes) {
    for (const Shape& shape : shapes) {
      for (const Residual residual : {Residual::none, Residual::plain, Residual::normed}) {
        for (const Activation activation :
             {Activation::none, Activation::relu, Activation::relu6, Activation::hard_swish, Activation::silu}) {
          check_op(apply_case(shape, dtype, activation, residual));
        }
      }
    }
  }
}

TEST(BatchNormParts, ApplyWritesTheMasksOfGates) {
  for (const DType dtype : dtypes) {
    for (const Shape& shape : masked_shapes) {
      for (const Residual residual : {Residual::none, Residual::plain, Residual::normed}) {
        for (const Activation activation : {Activation::relu, Activation::relu6}) {
          check_op(apply_case(shape, dtype, activation, residual, /*mask=*/true));
        }
      }
    }
  }
}

TEST(BatchNormParts, GradApplyAgreesWithReferenceInEveryDtype) {
  using Op = BatchNormGradApply;
  for (const DType dtype : dtypes) {
    for (const Shape& shape : shapes) {
      check_op({.op = std::make_shared<Op>(),
                .inputs = {random_tensor(dtype, shape, 1), random_tensor(dtype, shape, 2), channels(shape, 3, 0.5, 1.5),
                           channels(shape, 4, -0.2, 0.2), channels(shape, 5, 0.5, 2), channels(shape, 6),
                           channels(shape, 7)},
                .reference = [](const std::vector<HostTensor>& in) {
                  std::vector<double> dx(in[Op::x].values.size());
                  const std::size_t n = in[Op::gamma].values.size();
                  const double count = static_cast<double>(dx.size() / n);
                  for (std::size_t i = 0; i < dx.size(); ++i) {
                    const std::size_t c = i % n;
                    const double invstd = in[Op::saved_invstd].values[c];
                    const double normed = (in[Op::x].values[i] - in[Op::saved_mean].values[c]) * invstd;
                    dx[i] = in[Op::gamma].values[c] * invstd *
                            (in[Op::dz].values[i] - in[Op::dbeta].values[c] / count -
                             normed * in[Op::dgamma].values[c] / count);
                  }
                  return std::vector<std::vector<double>>{dx};
                }});
    }
  }
}

TEST(BatchNormParts, RefuseOneValuePerChannel) {
  const TensorDesc channels{DType::f32, {8}};
  const std::vector<TensorDesc> inputs(6, channels);
  EXPECT_THROW(BatchNormFinalize({.count = 1}).infer(inputs), std::invalid_argument);
  EXPECT_NO_THROW(BatchNormFinalize({.count = 2}).infer(inputs));
}

}  // namespace batch_norm_parts_test
}  // namespace ptrain::testing

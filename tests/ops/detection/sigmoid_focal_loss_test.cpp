#include "core/ops/detection/sigmoid_focal_loss.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace sigmoid_focal_loss_test {

/// -alpha_t (1 - p_t)^2 log(p_t) as it is written, in double; with scores that of VarifocalNet.
Reference reference(double alpha) {
  return [alpha](const std::vector<HostTensor>& in) {
    const std::size_t rows = in[1].values.size(), classes = in[0].values.size() / rows;
    const bool scored = in.size() > SigmoidFocalLoss::scores;
    double sum = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const double row_weight = in[2].absent ? 1 : in[2].values[r];
      for (std::size_t k = 0; k < classes; ++k) {
        const double p = 1 / (1 + std::exp(-in[0].values[r * classes + k]));
        const bool own = in[1].values[r] == static_cast<double>(k);
        if (own && scored) {
          const double q = in[SigmoidFocalLoss::scores].values[r];
          sum -= row_weight * q * (q * std::log(p) + (1 - q) * std::log(1 - p));
          continue;
        }
        const double right = own ? p : 1 - p, weight = own ? alpha : 1 - alpha;
        sum -= row_weight * weight * (1 - right) * (1 - right) * std::log(right);
      }
    }
    return std::vector<std::vector<double>>{{sum}};
  };
}

OpCase make_case(DType dtype, Shape rows, std::int64_t classes, float alpha = 0.25f) {
  OpCase c;
  std::vector<double> labels, weights;
  for (std::int64_t i = 0; i < rows.count(); ++i) {
    labels.push_back(static_cast<double>(i * 7 % (classes + 2) - 2));  // -2 and -1: no class
    weights.push_back(i % 5 == 4 ? 0.0 : static_cast<double>(1 + i % 3) / 8);
  }
  std::vector<std::int64_t> dims = rows.dims();
  dims.push_back(classes);
  c.op = std::make_shared<SigmoidFocalLoss>(FocalLossAttributes{alpha});
  c.inputs = {random_tensor(dtype, Shape(dims), 1, -4, 4), tensor(DType::i32, rows, labels),
              tensor(DType::f32, rows, weights)};
  c.reference = reference(static_cast<double>(alpha));
  c.gradient_inputs = {0};
  return c;
}

TEST(SigmoidFocalLoss, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, Shape{1}, 1));
    check_op(make_case(dtype, Shape{3, 4}, 5));
    check_op(make_case(dtype, Shape{7}, 19, 0.6f));
  }
}

TEST(SigmoidFocalLoss, IsVarifocalForRowsWithScores) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    OpCase c = make_case(dtype, Shape{3, 5}, 4);
    c.inputs.push_back(random_tensor(DType::f32, Shape{3, 5}, 7, 0, 1));
    check_op(c);
    c.inputs[SigmoidFocalLoss::weights] = absent_tensor();
    check_op(c);
  }
}

TEST(SigmoidFocalLoss, SumsManyRows) {
  OpCase c = make_case(DType::f32, Shape{5000}, 3);
  const double expected = c.reference(c.inputs)[0][0];
  EXPECT_NEAR(run_op(c.op, c.inputs)[0].values[0], expected, 1e-5 * expected);
}

TEST(SigmoidFocalLoss, RowsOfWeightZeroCountNowhere) {
  const auto op = std::make_shared<SigmoidFocalLoss>(FocalLossAttributes{});
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{2, 1}, {std::nan(""), 0}),
                                 tensor(DType::i32, Shape{2}, {0, 0}), tensor(DType::f32, Shape{2}, {0, 1})};
  EXPECT_NEAR(run_op(op, inputs)[0].values[0], 0.25 * 0.25 * std::log(2), 1e-6);
}

TEST(SigmoidFocalLoss, StaysFiniteForLogitsOfAnySize) {
  const auto op = std::make_shared<SigmoidFocalLoss>(FocalLossAttributes{0.5f});
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{2, 2}, {1e30, -1e30, -1e4, 1e4}),
                                 tensor(DType::i32, Shape{2}, {0, 0}), tensor(DType::f32, Shape{2}, {1, 1})};
  EXPECT_EQ(run_op(op, inputs)[0].values[0], 1e4);  // half of each of the second row's
}

TEST(SigmoidFocalLoss, NaNReachesTheLoss) {
  const auto op = std::make_shared<SigmoidFocalLoss>(FocalLossAttributes{});
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{1, 2}, {0, std::nan("")}), tensor(DType::i32, Shape{1}, {0}),
                                 tensor(DType::f32, Shape{1}, {1})};
  EXPECT_TRUE(std::isnan(run_op(op, inputs)[0].values[0]));
}

}  // namespace sigmoid_focal_loss_test
}  // namespace ptrain::testing

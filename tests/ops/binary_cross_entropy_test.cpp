#include "core/ops/binary_cross_entropy.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace binary_cross_entropy_test {

/// -t log s(z) - (1 - t) log(1 - s(z)) as it is written, in double.
Reference reference(double smoothing) {
  return [smoothing](const std::vector<HostTensor>& in) {
    double sum = 0, counted = 0;
    for (std::size_t r = 0; r < in[1].values.size(); ++r) {
      if (in[1].values[r] < 0) continue;
      const double s = 1 / (1 + std::exp(-in[0].values[r])), t = in[1].values[r] * (1 - smoothing) + smoothing / 2;
      sum -= t * std::log(s) + (1 - t) * std::log(1 - s);
      ++counted;
    }
    return std::vector<std::vector<double>>{{counted > 0 ? sum / counted : 0}};
  };
}

OpCase make_case(DType dtype, std::vector<double> labels, double smoothing = 0) {
  OpCase c;
  const auto rows = static_cast<std::int64_t>(labels.size());
  c.op = std::make_shared<BinaryCrossEntropy>(static_cast<float>(smoothing));
  c.inputs = {random_tensor(dtype, Shape{rows, 1}, 1, -4, 4), tensor(DType::i32, Shape{rows}, std::move(labels))};
  c.reference = reference(smoothing);
  c.gradient_inputs = {0};
  return c;
}

std::vector<double> alternating(std::size_t count) {
  std::vector<double> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<double>(i % 3 == 0);
  return labels;
}

TEST(BinaryCrossEntropy, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, {1}));
    check_op(make_case(dtype, {0, 1, 1, 0, 1}));
    check_op(make_case(dtype, alternating(300)));
    check_op(make_case(dtype, alternating(30), 0.2));
  }
}

TEST(BinaryCrossEntropy, IgnoredRowsCountNowhere) {
  check_op(make_case(DType::f32, {-1, 1, -1, 0}));
  check_op(make_case(DType::f32, {-1, -1}));
}

TEST(BinaryCrossEntropy, StaysFiniteForLogitsOfAnySize) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{4, 1}, {1e4, -1e4, 1e30, -1e30}),
                                 tensor(DType::i32, Shape{4}, {1, 0, 1, 0})};
  EXPECT_EQ(run_op(std::make_shared<BinaryCrossEntropy>(), inputs)[0].values[0], 0);
  inputs[1] = tensor(DType::i32, Shape{4}, {0, 1, -1, -1});
  EXPECT_EQ(run_op(std::make_shared<BinaryCrossEntropy>(), inputs)[0].values[0], 1e4);
}

TEST(BinaryCrossEntropy, NaNReachesTheLoss) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{2, 1}, {0, std::nan("")}),
                                 tensor(DType::i32, Shape{2}, {1, 1})};
  EXPECT_TRUE(std::isnan(run_op(std::make_shared<BinaryCrossEntropy>(), inputs)[0].values[0]));
}

}  // namespace binary_cross_entropy_test
}  // namespace ptrain::testing

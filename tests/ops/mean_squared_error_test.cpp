#include "core/ops/mean_squared_error.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace mean_squared_error_test {

std::vector<std::vector<double>> reference(const std::vector<HostTensor>& in) {
  double sum = 0, counted = 0;
  for (std::size_t r = 0; r < in[1].values.size(); ++r) {
    if (std::isnan(in[1].values[r])) continue;
    sum += std::pow(in[0].values[r] - in[1].values[r], 2);
    ++counted;
  }
  return {{counted > 0 ? sum / counted : 0}};
}

OpCase make_case(DType dtype, std::vector<double> targets) {
  OpCase c;
  const auto rows = static_cast<std::int64_t>(targets.size());
  c.op = std::make_shared<MeanSquaredError>();
  c.inputs = {random_tensor(dtype, Shape{rows, 1}, 1, -2, 5), tensor(DType::f32, Shape{rows}, std::move(targets))};
  c.reference = reference;
  c.gradient_inputs = {0};
  return c;
}

TEST(MeanSquaredError, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, {0, 2.5, 5, 3.75}));
    check_op(make_case(dtype, {1}));
    check_op(make_case(dtype, std::vector<double>(300, 1.5)));
  }
}

TEST(MeanSquaredError, RowsWithoutATargetCountNowhere) {
  check_op(make_case(DType::f32, {std::nan(""), 2, std::nan(""), 4}));
  check_op(make_case(DType::f32, {std::nan(""), std::nan("")}));
}

TEST(MeanSquaredError, NaNReachesTheLoss) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{2, 1}, {0, std::nan("")}),
                                 tensor(DType::f32, Shape{2}, {1, 1})};
  EXPECT_TRUE(std::isnan(run_op(std::make_shared<MeanSquaredError>(), inputs)[0].values[0]));
}

}  // namespace mean_squared_error_test
}  // namespace ptrain::testing

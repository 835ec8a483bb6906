#include "core/ops/tensor/matvec.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain::testing {
namespace matvec_test {

OpCase make_case(DType dtype, std::int64_t batch, std::int64_t rows, std::int64_t columns, bool relu) {
  OpCase c{
      .op = std::make_shared<Matvec>(MatvecAttributes{relu}),
      .inputs = {random_tensor(dtype, Shape{batch, rows, columns}, 1), random_tensor(dtype, Shape{batch, columns}, 2)}};
  c.reference = [=](const std::vector<HostTensor>& in) {
    std::vector<double> y(static_cast<std::size_t>(batch * rows));
    for (std::size_t row = 0; row < y.size(); ++row) {
      const std::size_t width = static_cast<std::size_t>(columns), vector = row / static_cast<std::size_t>(rows);
      for (std::size_t k = 0; k < width; ++k) {
        const double x = in[0].values[row * width + k];
        y[row] += (relu ? std::max(x, 0.0) : x) * in[1].values[vector * width + k];
      }
    }
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {Matvec::a, Matvec::v};
  return c;
}

TEST(Matvec, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const bool relu : {false, true}) {
      check_op(make_case(dtype, 3, 5, 16, relu));
      check_op(make_case(dtype, 2, 4, 37, relu));
      check_op(make_case(dtype, 1, 9, 1, relu));
    }
  }
}

TEST(Matvec, RefusesOtherShapes) {
  const Matvec op(MatvecAttributes{});
  const TensorDesc a{DType::f32, {2, 3, 4}};
  EXPECT_NO_THROW(op.infer(std::vector{a, TensorDesc{DType::f32, {2, 4}}}));
  EXPECT_THROW(op.infer(std::vector{a, TensorDesc{DType::f32, {2, 3}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector{a, TensorDesc{DType::bf16, {2, 4}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector{TensorDesc{DType::f32, {2, 3}}, TensorDesc{DType::f32, {2, 3}}}),
               std::invalid_argument);
}

}  // namespace matvec_test
}  // namespace ptrain::testing

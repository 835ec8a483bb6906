#include "core/ops/tensor/batched_matmul.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace batched_matmul_test {

std::vector<double> reference(const std::vector<HostTensor>& in, const BatchedMatmulAttributes& attributes) {
  const BatchedMatmulExtent e = batched_matmul_extent(attributes, in[0].desc.shape, in[1].desc.shape);
  const auto at = [&](const HostTensor& t, Orientation orientation, std::int64_t batch, std::int64_t rows,
                      std::int64_t columns, std::int64_t row, std::int64_t column) {
    const std::int64_t place = orientation == Orientation::plain ? row * columns + column : column * rows + row;
    return t.values[static_cast<std::size_t>(batch * rows * columns + place)];
  };
  std::vector<double> y;
  for (std::int64_t n = 0; n < e.batch; ++n) {
    for (std::int64_t row = 0; row < e.rows; ++row) {
      for (std::int64_t column = 0; column < e.columns; ++column) {
        double sum = 0;
        for (std::int64_t k = 0; k < e.inner; ++k) {
          sum += at(in[0], attributes.a, n, e.rows, e.inner, row, k) *
                 at(in[1], attributes.b, n, e.inner, e.columns, k, column);
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

/// Products of `batch` [rows, inner] and [inner, columns].
OpCase make_case(DType dtype, std::vector<std::int64_t> batch, std::int64_t rows, std::int64_t inner,
                 std::int64_t columns, BatchedMatmulAttributes attributes) {
  const auto shape = [&](std::int64_t first, std::int64_t second, Orientation orientation) {
    std::vector<std::int64_t> dims = batch;
    if (orientation == Orientation::transposed) std::swap(first, second);
    dims.insert(dims.end(), {first, second});
    return Shape(std::move(dims));
  };
  OpCase c;
  c.op = std::make_shared<BatchedMatmul>(attributes);
  c.inputs = {random_tensor(dtype, shape(rows, inner, attributes.a), 1),
              random_tensor(dtype, shape(inner, columns, attributes.b), 2)};
  c.reference = [attributes](const std::vector<HostTensor>& in) {
    return std::vector<std::vector<double>>{reference(in, attributes)};
  };
  c.gradient_inputs = {0, 1};
  return c;
}

TEST(BatchedMatmul, MatchesReferenceInEveryDtypeHoweverOperandsLie) {
  for (const Orientation a : {Orientation::plain, Orientation::transposed}) {
    for (const Orientation b : {Orientation::plain, Orientation::transposed}) {
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        check_op(make_case(dtype, {3}, 5, 8, 7, {a, b}));
        check_op(make_case(dtype, {2, 2}, 8, 3, 16, {a, b}));
      }
      check_op(make_case(DType::f32, {}, 9, 4, 5, {a, b}));
      check_op(make_case(DType::f32, {2, 1, 3}, 1, 6, 1, {a, b}));
    }
  }
}

TEST(BatchedMatmul, RefusesWhatDoesNotFit) {
  const TensorDesc a{DType::f32, {2, 4, 3}};
  const BatchedMatmul op(BatchedMatmulAttributes{});
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{a, {DType::f32, {2, 4, 3}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{a, {DType::f32, {1, 3, 4}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{a, {DType::bf16, {2, 3, 4}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{a, {DType::f32, {3, 4}}}), std::invalid_argument);
}

}  // namespace batched_matmul_test
}  // namespace ptrain::testing

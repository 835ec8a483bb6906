#include "core/ops/tensor/top_k.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptrain::testing {
namespace top_k_test {

/// Finite differences move elements by so little that none of them changes its place.
OpCase make_case(DType dtype, Shape shape, std::int64_t k) {
  OpCase c;
  c.op = std::make_shared<TopK>(k);
  c.inputs = {random_tensor(dtype, std::move(shape), 1, -9, 9)};
  c.reference = [k](const std::vector<HostTensor>& in) {
    const auto width = static_cast<std::size_t>(in[0].desc.shape[-1]);
    std::vector<std::vector<double>> y(2);
    for (std::size_t row = 0; row < in[0].values.size() / width; ++row) {
      const double* x = in[0].values.data() + row * width;
      std::vector<std::size_t> order(width);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return x[i] > x[j]; });
      for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
        y[TopK::values].push_back(x[order[j]]);
        y[TopK::indices].push_back(static_cast<double>(order[j]));
      }
    }
    return y;
  };
  return c;
}

TEST(TopK, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (OpCase c :
         {make_case(dtype, Shape{3, 5, 41}, 7), make_case(dtype, Shape{700}, 1), make_case(dtype, Shape{2, 13}, 13),
          make_case(dtype, Shape{4, 1}, 1), make_case(dtype, Shape{2, 1100}, 300)}) {
      const auto y = run_op(c.op, c.inputs);
      const auto expected = c.reference(c.inputs);
      EXPECT_EQ(y[TopK::values].values, expected[TopK::values]);
      EXPECT_EQ(y[TopK::indices].values, expected[TopK::indices]);
    }
  }
}

TEST(TopK, GradientsGoWhereTheLargestWere) {
  OpCase c = make_case(DType::f32, Shape{3, 2, 17}, 4);
  c.gradient_inputs = {0};
  check_op(c);
  c = make_case(DType::f32, Shape{9}, 2);
  c.gradient_inputs = {0};
  check_op(c);
}

TEST(TopK, EqualOnesKeepTheirOrder) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{7}, {1, 3, 1, 3, 0, 3, 1})};
  const auto y = run_op(std::make_shared<TopK>(5), inputs);
  EXPECT_EQ(y[TopK::values].values, (std::vector<double>{3, 3, 3, 1, 1}));
  EXPECT_EQ(y[TopK::indices].values, (std::vector<double>{1, 3, 5, 0, 2}));
}

TEST(TopK, NaNIsLargerThanAnyNumber) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{5}, {1, std::nan(""), INFINITY, std::nan(""), -INFINITY})};
  const auto y = run_op(std::make_shared<TopK>(5), inputs);
  EXPECT_EQ(y[TopK::indices].values, (std::vector<double>{1, 3, 2, 0, 4}));
}

TEST(TopK, RefusesMoreThanThereAre) {
  const std::vector<TensorDesc> inputs{{DType::f32, {4, 3}}};
  EXPECT_THROW(TopK(4).infer(inputs), std::invalid_argument);
  EXPECT_THROW(TopK(0).infer(inputs), std::invalid_argument);
}

}  // namespace top_k_test
}  // namespace ptrain::testing

#include "core/ops/tensor/reduce.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/broadcast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptrain::testing {
namespace reduce_test {

std::vector<double> reference(const HostTensor& x, const ReduceAttributes& attributes) {
  const std::vector<bool> reduced = reduced_axes(attributes, x.desc.shape.rank());
  std::vector<std::int64_t> dims = x.desc.shape.dims();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) dims[axis] = reduced[axis] ? 1 : dims[axis];
  const Shape kept(dims);
  std::vector<std::vector<double>> elements(static_cast<std::size_t>(kept.count()));
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    elements[broadcast_element(kept, x.desc.shape, static_cast<std::int64_t>(i))].push_back(x.values[i]);
  }
  std::vector<double> y;
  for (const auto& values : elements) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    const double mean = sum / static_cast<double>(values.size());
    y.push_back(attributes.kind == ReduceKind::sum    ? sum
                : attributes.kind == ReduceKind::mean ? mean
                                                      : *std::max_element(values.begin(), values.end()));
  }
  return y;
}

/// Values of x are all different where their dtype has room for that: where two are the maximum, it has no derivative.
OpCase make_case(ReduceKind kind, DType dtype, Shape shape, std::vector<int> axes, KeepDims keep = KeepDims::no) {
  const ReduceAttributes attributes{kind, std::move(axes), keep};
  OpCase c;
  c.op = std::make_shared<Reduce>(attributes);
  c.inputs = {random_tensor(dtype, std::move(shape), 1)};
  c.reference = [attributes](const std::vector<HostTensor>& in) {
    return std::vector<std::vector<double>>{reference(in[0], attributes)};
  };
  c.gradient_inputs = {0};
  return c;
}

TEST(Reduce, MatchesReferenceOverAnyAxes) {
  const std::vector<std::vector<int>> axes{{}, {0}, {1}, {-1}, {0, 2}, {1, 3}, {-2, -1}, {0, 1, 2, 3, 4}, {2}, {0, 4}};
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::max}) {
    for (const auto& some : axes) {
      check_op(make_case(kind, DType::f32, Shape{2, 3, 1, 5, 7}, some));
      check_op(make_case(kind, DType::f32, Shape{3, 2, 2, 3, 1}, some, KeepDims::yes));
    }
    check_op(make_case(kind, DType::f32, Shape{1}, {0}));
    check_op(make_case(kind, DType::f32, Shape{}, {}));
    check_op(make_case(kind, DType::f32, Shape{1, 1}, {1}));
  }
}

TEST(Reduce, MatchesReferenceInLowPrecision) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean}) {
      check_op(make_case(kind, dtype, Shape{5, 3, 33}, {1}));
      check_op(make_case(kind, dtype, Shape{5, 3, 33}, {0, 2}));
    }
    OpCase largest = make_case(ReduceKind::max, dtype, Shape{5, 3, 33}, {0, 2});
    largest.gradient_inputs = {};
    check_op(largest);
  }
}

TEST(Reduce, MatchesReferenceOfManyElements) {
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::max}) {
    for (const Shape& shape : {Shape{300000}, Shape{70000, 3}, Shape{3, 41, 2300}, Shape{500, 700}}) {
      for (const int axis : {0, -1}) {
        OpCase c = make_case(kind, DType::f32, shape, {axis});
        c.gradient_inputs = {};
        check_op(c);
      }
    }
  }
}

TEST(Reduce, ManySmallNumbersAreNotLost) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{1 << 20}, std::vector<double>(1 << 20, 0.1f))};
  const double sum = run_op(std::make_shared<Reduce>(ReduceAttributes{}), inputs)[0].values[0];
  EXPECT_NEAR(sum, (1 << 20) * static_cast<double>(0.1f), 1e-6 * sum);
}

TEST(Reduce, TheGradientOfAMaximumIsSharedAmongEquals) {
  OpCase c = make_case(ReduceKind::max, DType::f32, Shape{2, 3}, {1});
  c.inputs = {tensor(DType::f32, Shape{2, 3}, {2, 1, 2, -1, -1, -1})};
  const auto gradient = run_gradient(c, {tensor(DType::f32, Shape{2}, {4, 3})})[0].values;
  EXPECT_EQ(gradient, (std::vector<double>{2, 0, 2, 1, 1, 1}));
}

TEST(Reduce, AMaximumOfNaNIsNaN) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{40}, std::size_t{99}}) {
    std::vector<HostTensor> inputs{random_tensor(DType::f32, Shape{100}, 1)};
    inputs[0].values[at] = std::nan("");
    const auto op = std::make_shared<Reduce>(ReduceAttributes{ReduceKind::max});
    EXPECT_TRUE(std::isnan(run_op(op, inputs)[0].values[0])) << at;
  }
}

TEST(Reduce, RefusesAnAxisThatIsNotThere) {
  const std::vector<TensorDesc> inputs{{DType::f32, {4, 3}}};
  EXPECT_THROW(Reduce({ReduceKind::sum, {2}}).infer(inputs), std::invalid_argument);
  EXPECT_THROW(Reduce({ReduceKind::sum, {-3}}).infer(inputs), std::invalid_argument);
}

}  // namespace reduce_test
}  // namespace ptrain::testing

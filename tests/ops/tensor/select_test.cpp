#include "core/ops/tensor/select.h"

#include "core/ops/tensor/broadcast.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/broadcast.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace ptrain::testing {
namespace select_test {

bool compare(Comparison comparison, double a, double b) {
  switch (comparison) {
    case Comparison::equal:
      return a == b;
    case Comparison::not_equal:
      return a != b;
    case Comparison::less:
      return a < b;
    case Comparison::less_equal:
      return a <= b;
    case Comparison::greater:
      return a > b;
    case Comparison::greater_equal:
      break;
  }
  return a >= b;
}

constexpr std::array comparisons{Comparison::equal,      Comparison::not_equal, Comparison::less,
                                 Comparison::less_equal, Comparison::greater,   Comparison::greater_equal};

TEST(Compare, MatchesReferenceInEveryDtype) {
  const Shape a{3, 70, 5}, b{70, 1};
  for (const Comparison comparison : comparisons) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32}) {
      HostTensor left = random_tensor(DType::i32, a, 1, -4, 4), right = random_tensor(DType::i32, b, 2, -4, 4);
      left.desc.dtype = right.desc.dtype = dtype;
      if (dtype != DType::i32) left.values[17] = std::nan("");
      check_op({.op = std::make_shared<Compare>(CompareAttributes{comparison}),
                .inputs = {left, right},
                .reference = [&](const std::vector<HostTensor>& in) {
                  std::vector<double> mask;
                  for (std::int64_t i = 0; i < a.count(); ++i) {
                    const double x = in[0].values[static_cast<std::size_t>(i)];
                    mask.push_back(compare(comparison, x, in[1].values[broadcast_element(b, a, i)]) ? 1 : 0);
                  }
                  return std::vector<std::vector<double>>{mask};
                }});
    }
  }
}

TEST(Compare, TakesAConstant) {
  std::vector<HostTensor> inputs{tensor(DType::i32, Shape{4}, {-1, 0, 16777217, 3})};
  const auto run = [&](Comparison comparison, float constant) {
    return run_op(std::make_shared<Compare>(CompareAttributes{comparison, constant}), inputs)[0].values;
  };
  EXPECT_EQ(run(Comparison::greater, 0), (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(run(Comparison::equal, 16777216), (std::vector<double>{0, 0, 0, 0}));
}

OpCase make_where(DType dtype, const Shape& mask, HostTensor a, HostTensor b) {
  OpCase c;
  c.op = std::make_shared<Where>(WhereAttributes{0.25f, -2, dtype});
  c.inputs = {random_tensor(DType::u8, mask, 3, 0, 3), std::move(a), std::move(b)};
  c.reference = [](const std::vector<HostTensor>& in) {
    std::vector<Shape> shapes;
    for (const HostTensor& t : in) {
      if (!t.absent) shapes.push_back(t.desc.shape);
    }
    const Shape result = broadcast_shape(shapes);
    std::vector<double> y;
    for (std::int64_t i = 0; i < result.count(); ++i) {
      const auto at = [&](std::size_t k) { return in[k].values[broadcast_element(in[k].desc.shape, result, i)]; };
      if (at(0) != 0) {
        y.push_back(in[1].absent ? 0.25 : at(1));
      } else {
        y.push_back(in[2].absent ? -2 : at(2));
      }
    }
    return std::vector<std::vector<double>>{y};
  };
  return c;
}

TEST(Where, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const HostTensor a = random_tensor(dtype, Shape{2, 9, 31}, 1), b = random_tensor(dtype, Shape{9, 1}, 2);
    OpCase both = make_where(dtype, Shape{2, 9, 31}, a, b);
    both.gradient_inputs = {Where::a, Where::b};
    check_op(both);
    OpCase first = make_where(dtype, Shape{2, 1, 31}, a, absent_tensor());
    first.gradient_inputs = {Where::a};
    check_op(first);
    OpCase second = make_where(dtype, Shape{31}, absent_tensor(), b);
    second.gradient_inputs = {Where::b};
    check_op(second);
    check_op(make_where(dtype, Shape{5, 3}, absent_tensor(), absent_tensor()));
  }
  check_op(make_where(DType::i32, Shape{9, 1}, random_tensor(DType::i32, Shape{9, 70}, 1, -100, 100),
                      random_tensor(DType::i32, Shape{1}, 2, -100, 100)));
}

TEST(Where, NaNThatIsNotChosenIsNotSeen) {
  const HostTensor mask = tensor(DType::u8, Shape{2}, {1, 0});
  OpCase c = make_where(DType::f32, Shape{2}, tensor(DType::f32, Shape{2}, {3, std::nan("")}), absent_tensor());
  c.inputs[0] = mask;
  c.gradient_inputs = {Where::a};
  EXPECT_EQ(run_op(c.op, c.inputs)[0].values, (std::vector<double>{3, -2}));
  const auto gradient = run_gradient(c, {tensor(DType::f32, Shape{2}, {5, std::nan("")})})[0].values;
  EXPECT_EQ(gradient, (std::vector<double>{5, 0}));
}

TEST(Where, RefusesWhatIsNoMaskAndOperandsOfTwoDtypes) {
  const Where op(WhereAttributes{});
  const TensorDesc mask{DType::u8, {4}};
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{{DType::f32, {4}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector<TensorDesc>{mask, {DType::f32, {4}}, {DType::bf16, {4}}}), std::invalid_argument);
}

}  // namespace select_test
}  // namespace ptrain::testing

#include "core/ops/tensor/transpose.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/broadcast.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ptrain::testing {
namespace transpose_test {

OpCase make_case(DType dtype, const Shape& shape, std::vector<int> order) {
  OpCase c;
  c.op = std::make_shared<Transpose>(order);
  c.inputs = {random_tensor(dtype, shape, 1, dtype == DType::u8 ? 0 : -99, 99)};
  c.reference = [order](const std::vector<HostTensor>& in) {
    const Shape& from = in[0].desc.shape;
    std::vector<std::int64_t> dims;
    for (const int axis : order) dims.push_back(from[axis]);
    const Shape to(dims);
    std::vector<double> y;
    for (std::int64_t i = 0; i < to.count(); ++i) {
      const std::vector<std::int64_t> places = get_places(to, i);
      std::vector<std::int64_t> source(places.size());
      for (std::size_t axis = 0; axis < order.size(); ++axis)
        source[static_cast<std::size_t>(order[axis])] = places[axis];
      y.push_back(in[0].values[element_at(from, source)]);
    }
    return std::vector<std::vector<double>>{y};
  };
  if (dtype == DType::f32) c.gradient_inputs = {0};
  return c;
}

TEST(Transpose, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8}) {
    check_op(make_case(dtype, Shape{35, 67}, {1, 0}));
    check_op(make_case(dtype, Shape{3, 4, 5}, {1, 0, 2}));
  }
}

TEST(Transpose, TakesEveryOrderOfFiveAxes) {
  std::vector<int> order(5);
  std::iota(order.begin(), order.end(), 0);
  do {
    OpCase c = make_case(DType::bf16, Shape{2, 3, 1, 4, 5}, order);
    check_op(c);
  } while (std::next_permutation(order.begin(), order.end()));
  for (const auto& some : {std::vector<int>{4, 2, 0, 1, 3}, {0, 1, 2, 3, 4}, {1, 4, 3, 0, 2}}) {
    check_op(make_case(DType::f32, Shape{2, 3, 1, 4, 5}, some));
  }
}

TEST(Transpose, TakesImagesAndSingleElements) {
  check_op(make_case(DType::bf16, Shape{2, 40, 50, 3}, {0, 3, 1, 2}));
  check_op(make_case(DType::bf16, Shape{2, 3, 40, 50}, {0, 2, 3, 1}));
  check_op(make_case(DType::f32, Shape{1, 1, 1}, {2, 0, 1}));
  check_op(make_case(DType::f32, Shape{1, 9, 1}, {1, 2, 0}));
}

TEST(Transpose, RefusesWhatIsNoOrderOfTheAxes) {
  const std::vector<TensorDesc> inputs{{DType::f32, {4, 3}}};
  for (const auto& order : {std::vector<int>{0}, {0, 0}, {0, 2}, {0, 1, 2}}) {
    EXPECT_THROW(Transpose(order).infer(inputs), std::invalid_argument);
  }
}

}  // namespace transpose_test
}  // namespace ptrain::testing

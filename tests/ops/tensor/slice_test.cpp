#include "core/ops/tensor/slice.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/broadcast.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace slice_test {

OpCase make_case(DType dtype, Shape shape, int axis, std::int64_t begin, std::int64_t end) {
  OpCase c;
  c.op = std::make_shared<Slice>(SliceAttributes{axis, begin, end});
  c.inputs = {random_tensor(dtype, std::move(shape), 1, dtype == DType::u8 ? 0 : -99, 99)};
  c.reference = [axis, begin, end](const std::vector<HostTensor>& in) {
    const Shape& from = in[0].desc.shape;
    std::vector<double> y;
    for (std::int64_t i = 0; i < from.count(); ++i) {
      const std::int64_t place = get_places(from, i)[static_cast<std::size_t>(axis < 0 ? axis + from.rank() : axis)];
      if (place >= begin && place < end) y.push_back(in[0].values[static_cast<std::size_t>(i)]);
    }
    return std::vector<std::vector<double>>{y};
  };
  if (is_floating(dtype)) c.gradient_inputs = {0};
  return c;
}

TEST(Slice, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8}) {
    check_op(make_case(dtype, Shape{5, 7, 3}, 1, 2, 6));
    check_op(make_case(dtype, Shape{5, 7, 3}, -1, 0, 1));
  }
}

TEST(Slice, TakesPartsOfAnyAxis) {
  for (const int axis : {0, 1, 2, 3, 4, -2}) check_op(make_case(DType::f32, Shape{3, 4, 3, 5, 3}, axis, 1, 3));
  check_op(make_case(DType::f32, Shape{9}, 0, 8, 9));
  check_op(make_case(DType::f32, Shape{1, 6}, 0, 0, 1));
  OpCase large = make_case(DType::bf16, Shape{70, 1000}, 1, 1, 998);
  large.gradient_inputs = {};
  check_op(large);
}

OpCase make_padding_case(DType dtype, Shape shape, int axis, std::int64_t begin, std::int64_t extent) {
  OpCase c;
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t end = begin + shape[axis];
  c.op = std::make_shared<SliceGrad>(SliceAttributes{axis, begin, end}, extent);
  c.inputs = {random_tensor(dtype, shape, 1, -99, 99)};
  c.reference = [at, begin, end, extent](const std::vector<HostTensor>& in) {
    std::vector<std::int64_t> padded = in[0].desc.shape.dims();
    padded[at] = extent;
    const Shape to(std::move(padded));
    std::vector<double> y;
    std::size_t next = 0;
    for (std::int64_t i = 0; i < to.count(); ++i) {
      const std::int64_t place = get_places(to, i)[at];
      y.push_back(place >= begin && place < end ? in[0].values[next++] : 0);
    }
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {0};
  return c;
}

TEST(Slice, GradientPadsWithZerosAndHasAGradientOfItsOwn) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_padding_case(dtype, Shape{2, 3, 5, 4}, 1, 1, 5));
    check_op(make_padding_case(dtype, Shape{3, 4}, 0, 0, 5));
  }
}

TEST(Slice, RefusesWhatIsNotThere) {
  const std::vector<TensorDesc> inputs{{DType::f32, {4, 3}}};
  for (const SliceAttributes& attributes :
       {SliceAttributes{2, 0, 1}, SliceAttributes{0, 2, 2}, SliceAttributes{1, 0, 4}, SliceAttributes{0, -1, 2}}) {
    EXPECT_THROW(Slice(attributes).infer(inputs), std::invalid_argument);
  }
}

}  // namespace slice_test
}  // namespace ptrain::testing

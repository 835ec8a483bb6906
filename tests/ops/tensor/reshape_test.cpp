#include "core/ops/tensor/reshape.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/broadcast.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace reshape_test {

TEST(Reshape, KeepsElementsInTheirOrder) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8}) {
    OpCase c;
    c.op = std::make_shared<Reshape>(Shape{3, 1, 8});
    c.inputs = {random_tensor(dtype, Shape{2, 4, 3}, 1, 0, 100)};
    c.reference = [](const std::vector<HostTensor>& in) { return std::vector<std::vector<double>>{in[0].values}; };
    if (is_floating(dtype)) c.gradient_inputs = {0};
    check_op(c);
  }
}

TEST(Reshape, RefusesAnotherNumberOfElements) {
  EXPECT_THROW(Reshape(Shape{5}).infer(std::vector<TensorDesc>{{DType::f32, {4}}}), std::invalid_argument);
}

TEST(Expand, RepeatsWhatIsBroadcast) {
  const Shape shape{2, 3, 40, 5};
  for (const Shape& from : {Shape{}, Shape{5}, Shape{3, 1, 1}, Shape{2, 1, 40, 1}, shape}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8}) {
      OpCase c;
      c.op = std::make_shared<Expand>(shape);
      c.inputs = {random_tensor(dtype, from, 1, 0, 100)};
      c.reference = [&](const std::vector<HostTensor>& in) {
        std::vector<double> y;
        for (std::int64_t i = 0; i < shape.count(); ++i) y.push_back(in[0].values[broadcast_element(from, shape, i)]);
        return std::vector<std::vector<double>>{y};
      };
      if (dtype == DType::f32) c.gradient_inputs = {0};
      check_op(c);
    }
  }
}

TEST(Expand, RefusesWhatIsNoLarger) {
  EXPECT_THROW(Expand(Shape{1, 4}).infer(std::vector<TensorDesc>{{DType::f32, {3, 4}}}), std::invalid_argument);
}

}  // namespace reshape_test
}  // namespace ptrain::testing

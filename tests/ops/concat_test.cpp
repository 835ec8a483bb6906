#include "core/ops/concat.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace concat_test {

std::vector<std::vector<double>> reference(const std::vector<HostTensor>& in) {
  const auto rows = static_cast<std::size_t>(in[0].desc.shape[0]);
  std::vector<double> y;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const HostTensor& part : in) {
      const std::size_t width = part.values.size() / rows;
      y.insert(y.end(), part.values.begin() + static_cast<std::ptrdiff_t>(row * width),
               part.values.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    }
  }
  return {y};
}

TEST(Concat, PutsRowsOfEveryInputSideBySide) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    OpCase c;
    c.op = std::make_shared<Concat>();
    c.inputs = {random_tensor(dtype, Shape{70, 3, 5}, 1), random_tensor(dtype, Shape{70, 13}, 2),
                random_tensor(dtype, Shape{70, 1}, 3)};
    c.reference = reference;
    c.gradient_inputs = {0, 1, 2};
    check_op(c);
  }
}

TEST(Concat, HandsAGradientToThoseThatNeedIt) {
  OpCase c;
  c.op = std::make_shared<Concat>();
  c.inputs = {random_tensor(DType::f32, Shape{2, 4}, 1), random_tensor(DType::f32, Shape{2, 3}, 2)};
  c.reference = reference;
  c.gradient_inputs = {1};
  check_op(c);
}

TEST(Concat, RefusesOtherRowsAndDtypes) {
  const TensorDesc x{DType::f32, Shape{4, 3}};
  EXPECT_THROW(Concat().infer(std::vector<TensorDesc>{x, {DType::f32, Shape{5, 3}}}), std::invalid_argument);
  EXPECT_THROW(Concat().infer(std::vector<TensorDesc>{x, {DType::bf16, Shape{4, 3}}}), std::invalid_argument);
  EXPECT_THROW(Concat().infer(std::vector<TensorDesc>{x, {DType::f32, Shape{4}}}), std::invalid_argument);
}

TEST(Concat, JoinsAlongAnyAxis) {
  for (const int axis : {0, 1, 2, -1}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32}) {
      std::vector<HostTensor> inputs;
      for (const std::int64_t extent : {3, 1, 40}) {
        std::vector<std::int64_t> dims{4, 5, 6};
        dims[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)] = extent;
        inputs.push_back(random_tensor(dtype, Shape(dims), static_cast<std::uint64_t>(extent), -9, 9));
      }
      OpCase c;
      c.op = std::make_shared<Concat>(axis);
      c.inputs = inputs;
      c.reference = [axis](const std::vector<HostTensor>& in) {
        std::vector<double> y;
        const std::int64_t rows = concatenated_rows(in[0].desc.shape, axis);
        for (std::int64_t row = 0; row < rows; ++row) {
          for (const HostTensor& part : in) {
            const std::int64_t width = part.desc.count() / rows;
            y.insert(y.end(), part.values.begin() + row * width, part.values.begin() + (row + 1) * width);
          }
        }
        return std::vector<std::vector<double>>{y};
      };
      if (dtype != DType::i32) c.gradient_inputs = {0, 1, 2};
      check_op(c);
    }
  }
}

TEST(Concat, AlongAnAxisOtherAxesAgree) {
  const TensorDesc x{DType::f32, Shape{4, 3, 2}};
  EXPECT_EQ(Concat(1).infer(std::vector<TensorDesc>{x, {DType::f32, Shape{4, 5, 2}}})[0].shape, (Shape{4, 8, 2}));
  EXPECT_THROW(Concat(1).infer(std::vector<TensorDesc>{x, {DType::f32, Shape{4, 5, 1}}}), std::invalid_argument);
  EXPECT_THROW(Concat(1).infer(std::vector<TensorDesc>{x, {DType::f32, Shape{4, 5}}}), std::invalid_argument);
  EXPECT_THROW(Concat(3).infer(std::vector<TensorDesc>{x, x}), std::invalid_argument);
}

}  // namespace concat_test
}  // namespace ptrain::testing

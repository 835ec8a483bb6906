#include "core/ops/tensor/gather.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace gather_test {

/// Calls visit(element of x, element of what is gathered) for all whose number is in range.
template <typename Visit>
void for_picked(const GatherAttributes& attributes, const Shape& x, const HostTensor& indices, Visit&& visit) {
  const GatherExtent e = gather_extent(attributes, x, indices.desc.shape);
  for (std::int64_t b = 0; b < e.batches; ++b) {
    for (std::int64_t o = 0; o < e.outer; ++o) {
      for (std::int64_t k = 0; k < e.picked; ++k) {
        const auto row = static_cast<std::int64_t>(indices.values[static_cast<std::size_t>(b * e.picked + k)]);
        if (row < 0 || row >= e.extent) continue;
        for (std::int64_t i = 0; i < e.inner; ++i) {
          visit(static_cast<std::size_t>(((b * e.outer + o) * e.extent + row) * e.inner + i),
                static_cast<std::size_t>(((b * e.outer + o) * e.picked + k) * e.inner + i));
        }
      }
    }
  }
}

OpCase make_gather(DType dtype, const Shape& x, const Shape& indices, GatherAttributes attributes) {
  OpCase c;
  c.op = std::make_shared<Gather>(attributes);
  const std::int64_t extent = x[attributes.axis];
  c.inputs = {random_tensor(dtype, x, 1, -9, 9),
              random_tensor(DType::i32, indices, 2, -1, static_cast<double>(extent) + 1)};  // some are out of range
  const Shape shape = c.op->infer(std::vector{c.inputs[0].desc, c.inputs[1].desc})[0].shape;
  c.reference = [attributes, shape](const std::vector<HostTensor>& in) {
    std::vector<double> y(static_cast<std::size_t>(shape.count()));
    for_picked(attributes, in[0].desc.shape, in[1],
               [&](std::size_t from, std::size_t to) { y[to] = in[0].values[from]; });
    return std::vector<std::vector<double>>{y};
  };
  if (is_floating(dtype)) c.gradient_inputs = {Gather::x};
  return c;
}

TEST(Gather, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32}) {
    check_op(make_gather(dtype, Shape{7, 5}, Shape{9}, {0}));
    check_op(make_gather(dtype, Shape{3, 8, 4}, Shape{3, 6}, {1, 1}));
  }
}

TEST(Gather, TakesAnyAxisAndAnyIndices) {
  for (const int axis : {0, 1, 2, 3, -1}) check_op(make_gather(DType::f32, Shape{3, 4, 5, 6}, Shape{2, 1, 3}, {axis}));
  for (const int batch_axes : {0, 1, 2}) {
    check_op(make_gather(DType::f32, Shape{2, 3, 5, 6}, Shape{2, 3, 4}, {2, batch_axes}));
  }
  check_op(make_gather(DType::f32, Shape{4, 9}, Shape{4}, {1, 1}));      // one of each row
  check_op(make_gather(DType::f32, Shape{4, 9}, Shape{4, 3}, {-1, 1}));  // PyTorch's gather
  check_op(make_gather(DType::f32, Shape{1}, Shape{1}, {0}));
  check_op(make_gather(DType::f32, Shape{3, 40}, Shape{}, {0}));
}

OpCase make_scatter(DType dtype, const Shape& rows, const Shape& indices, GatherAttributes attributes,
                    std::int64_t extent) {
  OpCase c;
  c.op = std::make_shared<ScatterAdd>(attributes, extent);
  c.inputs = {random_tensor(dtype, rows, 1),
              random_tensor(DType::i32, indices, 2, -1, static_cast<double>(extent) + 1)};
  const Shape shape = c.op->infer(std::vector{c.inputs[0].desc, c.inputs[1].desc})[0].shape;
  c.reference = [attributes, shape](const std::vector<HostTensor>& in) {
    std::vector<double> y(static_cast<std::size_t>(shape.count()));
    for_picked(attributes, shape, in[1], [&](std::size_t to, std::size_t from) { y[to] += in[0].values[from]; });
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {ScatterAdd::rows};
  return c;
}

TEST(ScatterAdd, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_scatter(dtype, Shape{90, 5}, Shape{90}, {0}, 7));
    check_op(make_scatter(dtype, Shape{3, 4, 9, 6}, Shape{3, 9}, {2, 1}, 5));
    check_op(make_scatter(dtype, Shape{4, 2, 3, 33}, Shape{2, 3}, {1}, 2));
  }
}

TEST(ScatterAdd, AddsInF32WhatIsStoredInLess) {
  constexpr std::int64_t count = 1000;
  std::vector<HostTensor> inputs{tensor(DType::bf16, Shape{count}, std::vector<double>(count, 1)),
                                 tensor(DType::i32, Shape{count}, std::vector<double>(count, 0))};
  EXPECT_EQ(run_op(std::make_shared<ScatterAdd>(GatherAttributes{}, 1), inputs)[0].values[0], 1000);
}

TEST(ScatterAdd, ManyRowsGiveTheSameBitsAtEveryRun) {
  OpCase c = make_scatter(DType::f32, Shape{600, 40}, Shape{600}, {0}, 900);
  const auto first = run_op(c.op, c.inputs)[0].values;
  expect_close(first, c.reference(c.inputs)[0], tolerance(DType::f32), "sums of many rows");
  EXPECT_EQ(first, run_op(c.op, c.inputs)[0].values);
}

TEST(Gather, RefusesWhatDoesNotFit) {
  const TensorDesc x{DType::f32, {4, 3}};
  EXPECT_THROW(Gather({0}).infer(std::vector<TensorDesc>{x, {DType::i64, {2}}}), std::invalid_argument);
  EXPECT_THROW(Gather({2}).infer(std::vector<TensorDesc>{x, {DType::i32, {2}}}), std::invalid_argument);
  EXPECT_THROW(Gather({0, 1}).infer(std::vector<TensorDesc>{x, {DType::i32, {4}}}), std::invalid_argument);
  EXPECT_THROW(Gather({1, 1}).infer(std::vector<TensorDesc>{x, {DType::i32, {5, 2}}}), std::invalid_argument);
  EXPECT_THROW(ScatterAdd({0}, 9).infer(std::vector<TensorDesc>{x, {DType::i32, {5}}}), std::invalid_argument);
}

}  // namespace gather_test
}  // namespace ptrain::testing

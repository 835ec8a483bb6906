#include "core/ops/sparse/embedding_bag.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace embedding_bag_test {

std::vector<std::vector<double>> reference(const std::vector<HostTensor>& in) {
  const auto width = static_cast<std::size_t>(in[1].desc.shape[1]);
  const auto in_bag = static_cast<std::size_t>(in[0].desc.shape[-1]);
  std::vector<double> y(in[0].values.size() / in_bag * width);
  for (std::size_t i = 0; i < in[0].values.size(); ++i) {
    if (in[0].values[i] < 0) continue;
    for (std::size_t c = 0; c < width; ++c) {
      y[i / in_bag * width + c] += in[1].values[static_cast<std::size_t>(in[0].values[i]) * width + c];
    }
  }
  return {y};
}

TEST(EmbeddingBag, AddsUpTheRowsOfEveryBag) {
  for (const std::int64_t width : {1, 9, 130}) {
    OpCase c;
    c.op = std::make_shared<EmbeddingBag>();
    c.inputs = {tensor(DType::i32, Shape{4, 3}, {4, 0, 4, 1, 1, 1, 5, 2, 0, 4, 4, 5}),
                random_tensor(DType::f32, Shape{6, width}, 1)};
    c.reference = reference;
    c.gradient_inputs = {1};
    check_op(c);
  }
}

TEST(EmbeddingBag, LeavesOutTheIdsThatAreNone) {
  for (const std::int64_t width : {1, 9, 130}) {
    OpCase c;
    c.op = std::make_shared<EmbeddingBag>();
    c.inputs = {tensor(DType::i32, Shape{2, 2, 3}, {4, 0, -1, -1, -1, -1, 5, 4, 4, -1, 4, -1}),
                random_tensor(DType::f32, Shape{6, width}, 1)};
    c.reference = reference;
    c.gradient_inputs = {1};
    check_op(c);
  }
}

TEST(EmbeddingBag, RefusesIdsWithoutBags) {
  const TensorDesc table{DType::f32, Shape{6, 3}};
  EXPECT_THROW(EmbeddingBag().infer(std::vector<TensorDesc>{{DType::i32, Shape{4}}, table}), std::invalid_argument);
}

}  // namespace embedding_bag_test
}  // namespace ptrain::testing
